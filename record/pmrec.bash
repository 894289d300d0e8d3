# Completion of pmrec for bash.

_pmrec() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}
	local commands="doctor list mark report"
	local options="--add= --all-cpus --all-kernel --all-user --bpf-attr-map= --bpf-counters --bpf-prog= --cgroup=
		--codec= --color= --control= --cpu= --cputype= --delay= --detailed
		--event= --events-file= --filter= --for-each-cgroup= --force --help --interval= --interval-count= --interval-print= --keep= --label= --list
		--metric-no-group --metric-no-merge --metric-no-threshold --metrics= --metrics-file=
		--no-affinity --no-inherit --no-msr --no-perf --no-scale --null --num_iterations= --out= --output=
		--overwrite --per-thread --pfm-events= --pid= --pmu-filter= --post= --pre= --privacy= --quiet --repeat= --report --root= --rotate= --smi-cost --sources= --sync
		--TCC= --td-level= --threads= --tid= --timeout= --topdown --transaction --verbose --version"

	COMPREPLY=()
	# "--name=value" arrives in three words.
	[[ $prev == = ]] && prev=${COMP_WORDS[COMP_CWORD-2]}
	[[ $cur == = ]] && cur="" prev=${COMP_WORDS[COMP_CWORD-1]}
	case $prev in
	--privacy) COMPREPLY=($(compgen -W "strict default full" -- "$cur")); return ;;
	--report) COMPREPLY=($(compgen -W "show stat" -- "$cur")); return ;;
	--threads) COMPREPLY=($(compgen -W "auto one cpu" -- "$cur")); return ;;
	--cputype) COMPREPLY=($(compgen -W "core atom" -- "$cur")); return ;;
	--codec) COMPREPLY=($(compgen -W "packed plain" -- "$cur")); return ;;
	--color) COMPREPLY=($(compgen -W "auto always never" -- "$cur")); return ;;
	--sources) COMPREPLY=($(compgen -W "add cpufreq cpuidle gfx hwmon interrupts lpi msr perf pmt powercap pressure
		schedstat softirqs stat thermal throttle uncorefreq vmstat" -- "$cur")); return ;;
	-o|--output|--out|--events-file|--metrics-file) COMPREPLY=($(compgen -f -- "$cur")); return ;;
	--root) COMPREPLY=($(compgen -d -- "$cur")); return ;;
	list) COMPREPLY=($(compgen -W "events sources metrics metricgroups" -- "$cur")); return ;;
	-p|--pid) COMPREPLY=($(compgen -W "$(ps -eo pid= 2>/dev/null)" -- "$cur")); return ;;
	-e|--event)
		local before=
		[[ $cur == *,* ]] && before=${cur%,*},
		COMPREPLY=($(compgen -P "$before" -W "$("${COMP_WORDS[0]}" list events 2>/dev/null |
			awk 'NR > 1 && !/not on this machine|TERM=/ { print $1 }')" -- "${cur##*,}"))
		return ;;
	-i|-I|-n|-D|-r|-C|-t|-G|-b|-M|--*) [[ $cur == -* ]] || return ;;
	esac
	if [[ $cur == -* ]]; then
		COMPREPLY=($(compgen -W "$options" -- "$cur"))
		[[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace
		return
	fi
	# Behind COMMAND its own completion would be right; the names of programs and files are the best there is here.
	if ((COMP_CWORD == 1)); then
		COMPREPLY=($(compgen -W "$commands" -- "$cur") $(compgen -c -- "$cur"))
	else
		COMPREPLY=($(compgen -c -f -- "$cur"))
	fi
}
complete -F _pmrec pmrec
