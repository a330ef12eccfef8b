package firstboot

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

const (
	// exports is the command after which all variables are exported.
	exports = "set -o allexport"
	// provisions is the program of the image that starts the kubelet.
	provisions = "/opt/azure/containers/provision_start.sh"
)

// variables are what a script exports to the provisioning of the image.
func variables(script string) (map[string]string, error) {
	if !strings.HasPrefix(script, "#!") {
		return nil, errors.New("it is not a script: the first line names no interpreter")
	}
	_, rest, found := strings.Cut(script, "\n"+exports+"\n")
	if !found {
		return nil, fmt.Errorf("the script exports no variables: there is no line %q", exports)
	}
	out := map[string]string{}
	assignment := regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*=`)
	for line := range strings.Lines(rest) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case assignment.MatchString(line):
			name, text, _ := strings.Cut(line, "=")
			value, err := unquote(text)
			if err != nil {
				return nil, fmt.Errorf("variable %s: %w", name, err)
			}
			out[name] = value
		case strings.HasSuffix(line, " "+provisions):
			return out, nil
		case strings.TrimSpace(line) != "" && !strings.HasPrefix(line, "#"):
			return nil, fmt.Errorf("the line %q sets no variable", line)
		}
	}
	return nil, fmt.Errorf("nothing in the script makes the virtual machine join a cluster: it does not run %s", provisions)
}

// unquote is the value of a word of bash in an assignment. A word that bash would expand, and more than one word, are errors: then the value
// is not what was meant.
func unquote(text string) (string, error) {
	var out strings.Builder
	for rest := text; rest != ""; {
		var part string
		var err error
		switch rest[0] {
		case '\'':
			end := strings.IndexByte(rest[1:], '\'')
			if end < 0 {
				return "", fmt.Errorf("a quotation does not end in %q", text)
			}
			part, rest = rest[1:end+1], rest[end+2:]
		case '"':
			if part, rest, err = doubleQuoted(rest[1:]); err != nil {
				return "", err
			}
		case '\\':
			if len(rest) == 1 {
				return "", fmt.Errorf("%q continues in the next line", text)
			}
			part, rest = rest[1:2], rest[2:]
		default:
			if strings.ContainsRune(" \t$`;|&<>(){}*?[]~!#", rune(rest[0])) {
				return "", fmt.Errorf("%q has a meaning to the shell in %q", rest[0], text)
			}
			part, rest = rest[:1], rest[1:]
		}
		out.WriteString(part)
	}
	return out.String(), nil
}

// doubleQuoted is the text up to a double quote, and what follows.
func doubleQuoted(text string) (value, rest string, err error) {
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			return out.String(), text[i+1:], nil
		case c == '$' || c == '`':
			return "", "", fmt.Errorf("%q has a meaning to the shell in %q", c, text)
		case c == '\\' && i+1 < len(text) && strings.ContainsRune("\\\"$`", rune(text[i+1])):
			i++
			out.WriteByte(text[i])
		default:
			out.WriteByte(c)
		}
	}
	return "", "", fmt.Errorf("a quotation does not end in %q", text)
}
