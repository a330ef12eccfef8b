package completion

import (
	"fmt"
	"strings"
)

// zshTail serves both ways to load the script: as an autoloaded function from $fpath, and with "source".
const zshTail = `
if [ "$funcstack[1]" = "_%[1]s" ]; then
  _%[1]s "$@"
else
  compdef _%[1]s %[1]s
fi
`

// zsh writes the script for zsh: one function for each command.
func zsh(all []command) string {
	var out strings.Builder
	fmt.Fprintf(&out, "#compdef %s\n", all[0].path)
	for _, c := range all {
		fmt.Fprintf(&out, "\n%s() {\n", zshFunction(c))
		if len(c.children) == 0 {
			out.WriteString("  _arguments")
			zshFlags(&out, c)
			zshArguments(&out, c)
			out.WriteString("\n}\n")
			continue
		}
		out.WriteString("  local context state state_descr line\n  typeset -A opt_args\n  _arguments -C")
		zshFlags(&out, c)
		out.WriteString(" \\\n    '1:command:->command' \\\n    '*::argument:->argument'\n  case $state in\n  command)\n    local -a commands\n    commands=(\n")
		for _, path := range c.children {
			child := find(all, path)
			fmt.Fprintf(&out, "      %s\n", quoted(child.name+":"+child.help))
		}
		out.WriteString("    )\n    _describe command commands ;;\n  argument)\n    case $words[1] in\n")
		for _, path := range c.children {
			child := find(all, path)
			fmt.Fprintf(&out, "    %s) %s ;;\n", child.name, zshFunction(child))
		}
		out.WriteString("    esac ;;\n  esac\n}\n")
	}
	fmt.Fprintf(&out, zshTail, all[0].path)
	return out.String()
}

func zshFunction(c command) string { return "_" + strings.ReplaceAll(c.path, " ", "_") }

// zshFlags writes the flags as specifications of _arguments. Those with a value take it as the next word or after "=".
func zshFlags(out *strings.Builder, c command) {
	for _, f := range c.flags {
		help := "[" + strings.NewReplacer("[", "(", "]", ")").Replace(f.help) + "]"
		names, action := []string{"--" + f.name}, ""
		if f.short != "" {
			names = append(names, "-"+f.short)
		}
		if !f.isSwitch {
			names[0] += "="
			action = ":" + strings.ReplaceAll(f.value.name, ":", " ") + ":" + zshAction(f.value)
		}
		for _, name := range names {
			fmt.Fprintf(out, " \\\n    %s", quoted("*"+name+help+action))
		}
	}
}

// zshArguments writes the positional arguments.
func zshArguments(out *strings.Builder, c command) {
	if c.argument.name == "" {
		return
	}
	position := "1"
	if c.arguments {
		position = "*"
	}
	fmt.Fprintf(out, " \\\n    %s", quoted(position+":"+c.argument.name+":"+zshAction(c.argument)))
}

func zshAction(v value) string {
	switch {
	case len(v.words) > 0:
		return "(" + strings.Join(v.words, " ") + ")"
	case v.files:
		return "_files"
	}
	return " " // nothing is offered
}
