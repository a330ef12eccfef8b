// Package completion writes completion scripts for shells from a command line that kong parses. The scripts are static: they list the
// commands, flags and values, and do not run the program. A package of the program can therefore contain them, wherever it is installed.
package completion

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// Write writes the script for a shell: bash, zsh or fish.
func Write(to io.Writer, shell string, app *kong.Application) error {
	writers := map[string]func([]command) string{"bash": bash, "zsh": zsh, "fish": fish}
	write, ok := writers[shell]
	if !ok {
		return fmt.Errorf("unknown shell %q: use bash, zsh or fish", shell)
	}
	_, err := io.WriteString(to, write(commands(app.Node, app.Name, "", nil)))
	return err
}

// command is one command of the tree.
type command struct {
	// path are the names from the program on, such as "karpenter explain pod"; name is the last of them.
	path, name, help string
	// children are the paths of the subcommands; they and the flags are in the order of the help.
	children []string
	// flags includes those of the commands above, which may be given here, too.
	flags []flag
	// argument is what the first positional argument takes, arguments whether more may follow.
	argument  value
	arguments bool
}

// flag is a flag without its dashes.
type flag struct {
	// short is one letter, or "".
	name, short, help string
	// isSwitch is a flag without a value.
	isSwitch bool
	value    value
}

// value is what can be completed of a value: one of a few words, or the name of a file; nothing if both are empty.
type value struct {
	// name is how the help names the value.
	name  string
	words []string
	files bool
}

// commands returns a node of the tree and those below it.
func commands(node *kong.Node, path, help string, above []flag) []command {
	c := command{path: path, name: path[strings.LastIndex(path, " ")+1:], help: sentence(help), flags: slices.Clone(above)}
	for _, f := range node.Flags {
		if f.Hidden {
			continue
		}
		own := flag{name: f.Name, help: sentence(f.Help), isSwitch: f.IsBool() && f.PlaceHolder == "", value: valueOf(f.Value, f.PlaceHolder)}
		if f.Short != 0 {
			own.short = string(f.Short)
		}
		c.flags = append(c.flags, own)
	}
	for i, p := range node.Positional {
		if i == 0 {
			c.argument = valueOf(p, "")
		}
		c.arguments = i > 0 || p.IsCumulative()
	}
	var out []command
	for _, child := range node.Children {
		if child.Hidden {
			continue
		}
		below := commands(child, path+" "+child.Name, child.Help, c.flags)
		c.children = append(c.children, below[0].path)
		out = append(out, below...)
	}
	return append([]command{c}, out...)
}

// valueOf returns what can be completed of a value: its enumeration, or else the words of its tag complete, which are not all that it can be. Names
// and placeholders of files contain the word.
func valueOf(v *kong.Value, placeholder string) value {
	out := value{name: cmp.Or(placeholder, strings.ToUpper(v.Name))}
	if words := cmp.Or(v.Enum, v.Tag.Get("complete")); words != "" {
		for word := range strings.SplitSeq(words, ",") {
			out.words = append(out.words, strings.TrimSpace(word))
		}
	}
	out.files = len(out.words) == 0 && strings.Contains(strings.ToUpper(out.name), "FILE")
	return out
}

// sentence is the first sentence of a help text, without its full stop.
func sentence(help string) string {
	first, _, _ := strings.Cut(strings.Join(strings.Fields(help), " "), ". ")
	return strings.TrimSuffix(first, ".")
}

// find returns the command with a path.
func find(all []command, path string) command {
	return all[slices.IndexFunc(all, func(c command) bool { return c.path == path })]
}

// quoted is a text as a word of any of the three shells. An apostrophe cannot be written alike in all of them.
func quoted(text string) string {
	return "'" + strings.ReplaceAll(strings.ReplaceAll(text, "'", "’"), `\`, "") + "'"
}

// words joins the names of the subcommands of a command.
func (c command) subcommands(all []command) string {
	var out []string
	for _, path := range c.children {
		out = append(out, find(all, path).name)
	}
	return strings.Join(out, " ")
}
