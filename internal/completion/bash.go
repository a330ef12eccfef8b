package completion

import (
	"fmt"
	"strings"
)

// bashHead finds the command that the cursor is in, and the flag whose value is being typed. Readline splits words at "=", so that a
// value follows its flag either at once or after "=". It works with bash 3.2, which macOS has, and without the package bash-completion.
const bashHead = `# bash completion for %[1]s
_%[1]s() {
  local current=${COMP_WORDS[COMP_CWORD]} at=%[1]s flag= i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$at ${COMP_WORDS[i]}" in
%[2]s    esac
  done
  flag=${COMP_WORDS[COMP_CWORD - 1]}
  if [[ $current == "=" ]]; then
    current=
  elif [[ $flag == "=" ]]; then
    flag=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  COMPREPLY=()
`

// bash writes the script for bash. Where it offers nothing, bash completes the names of files.
func bash(all []command) string {
	name := all[0].path
	var paths, values, words strings.Builder
	for _, c := range all[1:] {
		fmt.Fprintf(&paths, "      %s) at=%s ;;\n", quoted(c.path), quoted(c.path))
	}
	for _, c := range all {
		for _, f := range c.flags {
			if f.isSwitch {
				continue
			}
			pattern := quoted(c.path + " --" + f.name)
			if f.short != "" {
				pattern += "|" + quoted(c.path+" -"+f.short)
			}
			fmt.Fprintf(&values, "    %s) COMPREPLY=($(compgen -W %s -- \"$current\")); return ;;\n", pattern, quoted(strings.Join(f.value.words, " ")))
		}
		var flags []string
		for _, f := range c.flags {
			flags = append(flags, "--"+f.name)
		}
		offered := c.subcommands(all) + strings.Join(c.argument.words, " ")
		fmt.Fprintf(&words, "    %s)\n      if [[ $current == -* ]]; then COMPREPLY=($(compgen -W %s -- \"$current\"))\n", quoted(c.path), quoted(strings.Join(flags, " ")))
		fmt.Fprintf(&words, "      else COMPREPLY=($(compgen -W %s -- \"$current\")); fi ;;\n", quoted(offered))
	}
	return fmt.Sprintf(bashHead, name, paths.String()) +
		"  case \"$at $flag\" in\n" + values.String() + "  esac\n" +
		"  case \"$at\" in\n" + words.String() + "  esac\n}\n" +
		fmt.Sprintf("complete -o default -F _%[1]s %[1]s\n", name)
}
