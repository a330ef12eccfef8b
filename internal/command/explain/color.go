package explain

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// The colors of a terminal, as SGR parameters.
const (
	red    = "31"
	green  = "32"
	yellow = "33"
)

// colored are the words of answers that have a color: states, and what blocks.
func colored() map[string]string {
	return map[string]string{
		"pending and unschedulable": red, "blocked": red, "Refused": red, "Blocked": red, "NoLaunches": red,
		"pending and fits a node": green, "pending and fit a node": green, "Bound": green, "Nominated": green, "Launches": green, "Stays": green,
		"pending": yellow, "would be deleted": yellow, "would be replaced": yellow, "would be terminated": yellow, "would be rebooted": yellow,
		"Pending": yellow, "Disruptable": yellow,
	}
}

// painted colors states and what blocks, for a terminal.
func painted(text string) string {
	colors := colored()
	words := slices.SortedFunc(maps.Keys(colors), func(a, b string) int { return len(b) - len(a) }) // the longest match wins
	return regexp.MustCompile(`\b(`+strings.Join(words, "|")+`)\b`).ReplaceAllStringFunc(text, func(word string) string {
		return "\x1b[" + colors[word] + "m" + word + "\x1b[0m"
	})
}

// plain leaves a text as it is.
func plain(text string) string { return text }
