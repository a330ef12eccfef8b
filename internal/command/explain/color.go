package explain

import (
	"regexp"
	"strings"
)

// The colors of a terminal, as SGR parameters.
const (
	red    = "31"
	green  = "32"
	yellow = "33"
)

// colored are the words of answers that have a color: states, and what blocks. The first that matches in a place wins.
var colored = []struct {
	color string
	words []string
}{
	{red, []string{"pending and unschedulable", "blocked", "Refused", "Blocked", "NoLaunches"}},
	{green, []string{"pending and fits a node", "pending and fit a node", "Bound", "Nominated", "Launches", "Stays"}},
	{yellow, []string{"pending", "would be deleted", "would be replaced", "would be terminated", "would be rebooted", "Pending", "Disruptable"}},
}

var colorWords = func() *regexp.Regexp {
	var all []string
	for _, c := range colored {
		all = append(all, c.words...)
	}
	return regexp.MustCompile(`\b(` + strings.Join(all, "|") + `)\b`)
}()

// painted colors states and what blocks, for a terminal.
func painted(text string) string {
	return colorWords.ReplaceAllStringFunc(text, func(word string) string {
		for _, c := range colored {
			for _, w := range c.words {
				if w == word {
					return "\x1b[" + c.color + "m" + word + "\x1b[0m"
				}
			}
		}
		return word
	})
}

// plain leaves a text as it is.
func plain(text string) string { return text }
