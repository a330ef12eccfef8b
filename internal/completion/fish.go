package completion

import (
	"fmt"
	"strings"
)

// fishHead finds the command that the cursor is in.
const fishHead = `# fish completion for %[1]s
function __%[1]s_at
    set -l at %[1]s
    set -l words (commandline -opc)
    set -e words[1]
    for word in $words
        if contains -- "$at $word"%[2]s
            set at "$at $word"
        end
    end
    test "$at" = "$argv"
end
complete -c %[1]s -f
`

// fish writes the script for fish.
func fish(all []command) string {
	name := all[0].path
	var paths, out strings.Builder
	for _, c := range all[1:] {
		paths.WriteString(" " + quoted(c.path))
	}
	fmt.Fprintf(&out, fishHead, name, paths.String())
	for _, c := range all {
		at := fmt.Sprintf("complete -c %s -n %s", name, quoted(fmt.Sprintf("__%s_at %s", name, c.path)))
		for _, path := range c.children {
			child := find(all, path)
			fmt.Fprintf(&out, "%s -a %s -d %s\n", at, child.name, quoted(child.help))
		}
		if len(c.argument.words) > 0 {
			fmt.Fprintf(&out, "%s -a %s\n", at, quoted(strings.Join(c.argument.words, " ")))
		}
		if c.argument.files {
			fmt.Fprintf(&out, "%s -F\n", at)
		}
		for _, f := range c.flags {
			fmt.Fprintf(&out, "%s -l %s%s -d %s\n", at, f.name, fishFlag(f), quoted(f.help))
		}
	}
	return out.String()
}

// fishFlag writes the letter of a flag and what its value is: -x takes one without files, -r -F one with files.
func fishFlag(f flag) string {
	var out string
	if f.short != "" {
		out += " -s " + f.short
	}
	switch {
	case f.isSwitch:
	case f.value.files:
		out += " -r -F"
	default:
		out += " -x"
	}
	if len(f.value.words) > 0 {
		out += " -a " + quoted(strings.Join(f.value.words, " "))
	}
	return out
}
