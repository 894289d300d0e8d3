#compdef pmrec pmrep
# Options are what the programs say themselves: --help=options has "--name" or "--name=", a TAB and its argument a line.
local -a options commands command
commands=(${(f)"$($words[1] --help 2>/dev/null | awk '/^Commands:/ { on = 1; next } on && !NF { exit } on { print $1 }')"})
(( CURRENT > 2 && ${commands[(Ie)$words[2]]} )) && command=($words[2])
if [[ $PREFIX == -* ]]; then
	options=(${(f)"$($words[1] $command --help=options 2>/dev/null | awk -F '\t' '{ print $1 }')"})
	compadd -S '' -- ${(M)options:#*=}
	compadd -- ${options:#*=}
	return
fi
(( CURRENT == 2 )) && compadd -- $commands
_files
