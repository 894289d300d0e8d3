# Completion of pmrep for bash.

_pmrep() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]} options
	local commands="bundle check cut diff dump eval html info list merge plot redact show stat"
	local common="--color= --help --version"
	local show="--IPC --Joules --Summary --TCC= --all --cpu= --debug --enable= --every= --follow --force --format=
		--header_iterations= --hide= --interval-clear --interval= --layout= --list --metrics-file= --no-msr
		--no-perf --num_iterations= --out= --overwrite --per-cache --per-cgroup --per-cluster --per-core --per-cpu
		--per-device --per-die --per-node --per-package --pci --per-pmu --per-system --per-task --quiet --rate
		--show= --since= --spark --strict --thresholds --time= --total --until= --width= --Dump"
	local stat="--all --all-events --append --big-num --bpf-prog= --cgroup= --cpu= --detailed --event= --every= --field-separator=
		--follow --format= --hybrid-merge --interval --interval-clear --interval-count= --interval-print=
		--json-output --log-fd= --metric-no-threshold --metric-only --metric-style= --metrics= --metrics-file=
		--no-aggr --no-big-num --no-csv-summary --no-merge --no-metric-only --no-scale --output= --overwrite --per-cache
		--per-cgroup --per-cluster --per-core --per-die --per-node --per-socket --per-system --per-thread
		--percore-show-thread --pid= --quiet --since= --smi-cost --sort= --stats --strict --summary --table
		--td-level= --tid= --top= --topdown --total --transaction --until= --verbose"
	local diff="--align= --all --assume-run-sd= --base= --enable= --force --format= --from-marker= --gate= --hide=
		--higher= --jobs= --lower= --margin= --metrics-file= --new= --noise= --overwrite --per-cache --per-cgroup --per-cluster
		--per-core --per-cpu --per-device --per-die --per-node --per-package --per-pmu --per-task --phases --rate
		--save-noise= --show= --skip-start= --strict --to-marker="

	COMPREPLY=()
	# "--name=value" arrives in three words.
	[[ $prev == = ]] && prev=${COMP_WORDS[COMP_CWORD-2]}
	[[ $cur == = ]] && cur="" prev=${COMP_WORDS[COMP_CWORD-1]}
	case $prev in
	--format)
		case $command in
		info|dump|check) COMPREPLY=($(compgen -W "text json" -- "$cur")) ;;
		list) COMPREPLY=($(compgen -W "table json" -- "$cur")) ;;
		diff) COMPREPLY=($(compgen -W "table csv json markdown" -- "$cur")) ;;
		stat) COMPREPLY=($(compgen -W "perf table csv json" -- "$cur")) ;;
		*) COMPREPLY=($(compgen -W "table csv json turbostat" -- "$cur")) ;;
		esac
		return ;;
	--keep) COMPREPLY=($(compgen -W "machine person time bios devices host labels product" -- "$cur")); return ;;
	--metric-style) COMPREPLY=($(compgen -W "classic named none" -- "$cur")); return ;;
	--sort) COMPREPLY=($(compgen -W "value running name none" -- "$cur")); return ;;
	--layout) COMPREPLY=($(compgen -W "long wide" -- "$cur")); return ;;
	--time) COMPREPLY=($(compgen -W "rfc3339 epoch-ns relative local" -- "$cur")); return ;;
	--color) COMPREPLY=($(compgen -W "auto always never" -- "$cur")); return ;;
	-c|-C|--cpu) COMPREPLY=($(compgen -W "core package" -- "$cur")); return ;;
	-o|--out|--output|--map|--metrics-file|--noise|--save-noise|--base|--new) COMPREPLY=($(compgen -f -- "$cur")); return ;;
	--every|--interval|--num_iterations|--header_iterations|--TCC|--since|--until|--show|--hide|--enable|--counter|--max-size|--width|--height)
		return ;;
	esac
	case $command in
	bundle) options="--keep= --map= --max-size= --no-redact --output= --overwrite --shift-time $common" ;;
	check) options="--format= --quiet $common" ;;
	cut) options="--counter= --cpu= --every= --output= --overwrite --since= --sources= --until= $common" ;;
	dump) options="--counter= --format= --no-definitions --snapshots --no-values $common" ;;
	diff) options="$diff $common" ;;
	eval) options="$common" ;;
	html) options="--hide= --max-size= --output= --overwrite --show= --since= --until= $common" ;;
	info) options="--all --format= --pci $common" ;;
	list) options="--format= $common" ;;
	plot) options="--ascii --cpu= --every= --heatmap --height= --no-rate --per-cache --per-cgroup --per-cluster --per-core --per-cpu --per-device --per-die --per-node --per-package --per-pmu --per-system --per-task --rate --since= --until= --width= $common" ;;
	merge) options="--output= --overwrite $common" ;;
	redact) options="--keep= --map= --output= --overwrite --shift-time $common" ;;
	stat) options="$stat $common" ;;
	*) options="$show $common" ;;
	esac
	if [[ $cur == -* ]]; then
		COMPREPLY=($(compgen -W "$options" -- "$cur"))
		[[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace
		return
	fi
	((COMP_CWORD == 1)) && COMPREPLY=($(compgen -W "$commands" -- "$cur"))
	[[ $command == list ]] && COMPREPLY=($(compgen -W "counters metrics events instances groups sources pmus" -- "$cur"))
	compopt -o filenames 2>/dev/null
	COMPREPLY+=($(compgen -d -- "$cur") $(compgen -f -X '!*.pmr*' -- "$cur"))
}
complete -F _pmrep pmrep
