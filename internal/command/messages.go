package command

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/karpenter-anew/karpenter/internal/options"
)

// message says in words for users what a message of the flag library says; rewrite gets the groups of the pattern.
type message struct {
	pattern *regexp.Regexp
	rewrite func(subcommand string, found []string) string
}

// messages are those of the flag library that name its own types and tokens.
func messages() []message {
	return []message{
		{regexp.MustCompile(`^unknown flag (-\S+)$`), func(subcommand string, found []string) string {
			return fmt.Sprintf(`unknown flag %s: "karpenter %s --help" lists the flags`, found[1], subcommand)
		}},
		{regexp.MustCompile(`^unexpected argument (.+?)(, did you mean .*)?$`), func(subcommand string, found []string) string {
			if found[2] != "" {
				return fmt.Sprintf("unexpected argument %q%s", found[1], found[2])
			}
			return fmt.Sprintf(`unexpected argument %q: "karpenter %s --help" shows which arguments it takes`, found[1], subcommand)
		}},
		{regexp.MustCompile(`^expected (?:one of )?("<.*)$`), func(subcommand string, found []string) string {
			return fmt.Sprintf(`missing argument: "karpenter %s" needs %s`, subcommand, strings.ReplaceAll(found[1], `"`, ""))
		}},
		{regexp.MustCompile(`^expected (?:one of )?("[a-z].*)$`), func(subcommand string, found []string) string {
			return fmt.Sprintf(`missing argument: "karpenter %s" needs one of %s`, subcommand, strings.ReplaceAll(found[1], `"`, ""))
		}},
		{regexp.MustCompile(`^missing positional arguments (.*)$`), func(subcommand string, found []string) string {
			return fmt.Sprintf(`missing argument: "karpenter %s" needs %s`, subcommand, found[1])
		}},
		{regexp.MustCompile(`^missing flags: (.*)$`), func(subcommand string, found []string) string {
			return fmt.Sprintf(`missing flag: "karpenter %s" needs %s`, subcommand, found[1])
		}},
		{regexp.MustCompile(`^(--\S+ and --\S+) can't be used together$`), func(_ string, found []string) string {
			return found[1] + " cannot be used together: leave out one of them"
		}},
		{regexp.MustCompile(`^--([a-z-]+)(?:=\S+)? must be one of (.*) but got "(.*)"$`), func(_ string, found []string) string {
			return invalid(found[1], found[3], "allowed: "+listed(found[2]))
		}},
		{regexp.MustCompile(`^<([a-z-]+)>.* must be one of (.*) but got "(.*)"$`), func(_ string, found []string) string {
			return fmt.Sprintf("argument <%s> is %q: allowed: %s", found[1], found[3], listed(found[2]))
		}},
		{regexp.MustCompile(`^--([a-z-]+)(?:=\S*)?: (?:missing value, expecting .*|expected \S+ value but got .*)$`), func(_ string, found []string) string {
			return fmt.Sprintf("flag --%s needs a value", found[1])
		}},
		{regexp.MustCompile(`^--([a-z-]+)(?:=\S*)?: expected (?:an int|a valid \d+ bit u?int) but got "(.*?)".*$`), func(_ string, found []string) string {
			return invalid(found[1], found[2], "must be a whole number")
		}},
		{regexp.MustCompile(`^--([a-z-]+)(?:=\S*)?: expected a float but got "(.*?)".*$`), func(_ string, found []string) string {
			return invalid(found[1], found[2], "must be a number")
		}},
		{regexp.MustCompile(`^--([a-z-]+)(?:=\S*)?: expected duration but got "(.*?)".*$`), func(_ string, found []string) string {
			return invalid(found[1], found[2], "must be a duration such as 90s or 2h")
		}},
		{regexp.MustCompile(`^--([a-z-]+)(?:=\S*)?: (?:bool value must be .*|expected bool) but got "(.*?)".*$`), func(_ string, found []string) string {
			return invalid(found[1], found[2], "must be true or false")
		}},
		{regexp.MustCompile(`^--([a-z-]+)(?:=\S*)?: parsing time "(.*?)" as .*$`), func(_ string, found []string) string {
			return invalid(found[1], found[2], "must be a time such as 2026-01-02T15:04:05Z")
		}},
	}
}

func invalid(flag, value, reason string) string {
	return (&options.ValueError{Flag: flag, Value: value, Reason: reason}).Error()
}

// listed is a list of quoted values, as text.
func listed(quoted string) string {
	return strings.ReplaceAll(strings.ReplaceAll(quoted, `"`, ""), ",", ", ")
}

// readable returns the error of a command line that cannot be parsed, in words for users.
func readable(err error, subcommand string) error {
	if value := options.Explain(err); value != err { //nolint:errorlint // Explain returns the same error if it has nothing to explain
		return value
	}
	var parsed *kong.ParseError
	if !errors.As(err, &parsed) {
		return err
	}
	var words []string // those of the subcommand
	for _, at := range parsed.Context.Path {
		if at.Command != nil {
			words = append(words, at.Command.Name)
		}
	}
	if len(words) > 0 {
		subcommand = strings.Join(words, " ")
	}
	for _, m := range messages() {
		if found := m.pattern.FindStringSubmatch(err.Error()); found != nil {
			return errors.New(m.rewrite(subcommand, found))
		}
	}
	return err
}
