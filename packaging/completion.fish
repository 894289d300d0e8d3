# Options are what the programs say themselves: --help=options has "--name" or "--name=", a TAB and its argument a line.
function __pmrec_options
    set -l words (commandline -opc)
    $words[1] (string match -r -- '^[a-z]+$' $words[2]) --help=options 2>/dev/null | string replace -r '^([^\t]*)\t([^\t]*).*$' '$1\t$2'
end
for program in pmrec pmrep
    complete -c $program -n 'string match -q -- "-*" (commandline -ct)' -f -a '(__pmrec_options)'
    complete -c $program -n __fish_is_first_arg -a "($program --help 2>/dev/null | awk '/^Commands:/ { on = 1; next } on && !NF { exit } on { print \$1 }')"
end
