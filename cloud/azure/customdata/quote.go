package customdata

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A value never becomes a command. All values are written by variable.assignment, which quotes them; labels and taints are what Kubernetes
// accepts; and values of kubelet flags, which scripts of the image copy into other files, have none of the characters that mean something
// there (flagValue).

// quoting is how the value of a variable is written.
type quoting int

const (
	// bare is without quotes, unless the value has a character that needs them.
	bare quoting = iota
	// double is in double quotes.
	double
)

// variable is a variable that the script exports.
type variable struct {
	name, value string
	quoting     quoting
}

// assignment is the line of the script that sets the variable to exactly its value.
func (v variable) assignment() (string, error) {
	if !utf8.ValidString(v.value) || strings.ContainsFunc(v.value, unicode.IsControl) {
		return "", fmt.Errorf("variable %s cannot have the value %q, which has control characters", v.name, v.value)
	}
	switch {
	case v.quoting == double:
		return v.name + `="` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `\$`, "`", "\\`").Replace(v.value) + "\"\n", nil
	case plain(v.value, "-_.,:/=@%+"):
		return v.name + "=" + v.value + "\n", nil
	default:
		// Names of resource groups can have parentheses.
		return v.name + "='" + strings.ReplaceAll(v.value, "'", `'\''`) + "'\n", nil
	}
}

// plain reports whether a text has only letters and digits of ASCII and some other characters.
func plain(text, others string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune(others, r)
	})
}

// flagValue returns an error for a text that the value of a kubelet flag cannot be. Scripts of the image copy flags into environment files of
// units, where a value with quotes, blanks or expansions has no safe form.
func flagValue(text string) error {
	if !plain(text, "-_.,:/=<*") {
		return fmt.Errorf("a kubelet flag cannot have the value %q", text)
	}
	return nil
}
