# Completion of pmrec and pmrep for bash. --help=options has a line for each option: "--name" or "--name=", and after a
# TAB its argument, in which alternatives in small letters are words.

_pmrec() {
	local program=${COMP_WORDS[0]} cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}
	local commands command=() options argument before=
	commands=$("$program" --help 2>/dev/null | awk '/^Commands:/ { on = 1; next } on && !NF { exit } on { print $1 }')
	[[ $COMP_CWORD -gt 1 && " ${commands//$'\n'/ } " == *" ${COMP_WORDS[1]} "* ]] && command=("${COMP_WORDS[1]}")

	COMPREPLY=()
	# "--name=value" arrives in three words.
	[[ $prev == = ]] && prev=${COMP_WORDS[COMP_CWORD-2]}
	[[ $cur == = ]] && cur="" prev=${COMP_WORDS[COMP_CWORD-1]}
	options=$("$program" "${command[@]}" --help=options 2>/dev/null)
	case $prev in
	-[eopM]) argument=$(awk -F '\t' -v letter="$prev" '$3 == letter { print $2 }' <<<"$options") ;;
	--*) argument=$(awk -F '\t' -v name="$prev" '$1 == name || $1 == name "=" { print $2 }' <<<"$options") ;;
	esac
	case $prev in
	-e|--event)
		[[ $cur == *,* ]] && before=${cur%,*},
		COMPREPLY=($(compgen -P "$before" -W "$("$program" list events 2>/dev/null |
			awk 'NR > 1 && !/not on this machine|TERM=/ { print $1 }')" -- "${cur##*,}"))
		return ;;
	--sources)
		[[ ${program##*/} == pmrec ]] && COMPREPLY=($(compgen -W "$("$program" list sources 2>/dev/null |
			awk 'NR > 1 { print $1 }')" -- "$cur"))
		return ;;
	-p|--pid) COMPREPLY=($(compgen -W "$(ps -eo pid= 2>/dev/null)" -- "$cur")); return ;;
	esac
	case $argument in
	*[[:upper:]]*[[:lower:]]*|*[[:lower:]]*[[:upper:]]*) [[ $cur == -* ]] || return ;;
	*[a-z]*'|'*) COMPREPLY=($(compgen -W "${argument//|/ }" -- "$cur")); return ;;
	*FILE*|*PATH*) COMPREPLY=($(compgen -f -- "$cur")); return ;;
	*DIR*) COMPREPLY=($(compgen -d -- "$cur")); return ;;
	?*) [[ $cur == -* ]] || return ;;
	esac
	if [[ $cur == -* ]]; then
		COMPREPLY=($(compgen -W "$(cut -f 1 <<<"$options")" -- "$cur"))
		[[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null
		return
	fi
	((COMP_CWORD == 1)) && COMPREPLY=($(compgen -W "$commands" -- "$cur"))
	[[ ${command[0]} == list && ${program##*/} == pmrec ]] &&
		COMPREPLY=($(compgen -W "events sources metrics metricgroups" -- "$cur")) && return
	[[ ${command[0]} == list ]] &&
		COMPREPLY=($(compgen -W "counters metrics events instances" -- "$cur"))
	if [[ ${program##*/} == pmrec ]]; then
		# Behind COMMAND its own completion would be right; programs and files are the best there is here.
		COMPREPLY+=($(compgen -c -- "$cur"))
		((COMP_CWORD > 1)) && COMPREPLY+=($(compgen -f -- "$cur"))
	else
		compopt -o filenames 2>/dev/null
		COMPREPLY+=($(compgen -d -- "$cur") $(compgen -f -X '!*.pmr*' -- "$cur"))
	fi
}
complete -F _pmrec pmrec pmrep
