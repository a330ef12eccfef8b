package screen

import (
	"fmt"
	"strings"
)

// action is what a key does.
type action int

const (
	noAction action = iota
	up
	down
	pageUp
	pageDown
	first
	last
	open
	back
	nextTab
	previousTab
	showNodes
	showPending
	showMoves
	showCost
	showPools
	filter
	sortNext
	sortReverse
	showUnknown
	refresh
	pause
	help
	quit
)

// binding is a row of the table of keys.
type binding struct {
	action action
	// keys are as Bubble Tea names them, shown is how they are shown.
	keys  []string
	shown string
	about string
}

// bindings are all keys. Update, the help and docs/top.md have them from here.
func bindings() []binding {
	return []binding{
		{showNodes, []string{"1"}, "1", "nodes"},
		{showPending, []string{"2"}, "2", "pending pods, and nodes that are launched for them"},
		{showMoves, []string{"3"}, "3", "moves: disruption commands, disruption plans of the ledger, and budgets"},
		{showCost, []string{"4"}, "4", "cost"},
		{showPools, []string{"5"}, "5", "NodePools"},
		{nextTab, []string{"tab", "right", "l"}, "Tab, right, l", "next view; in details, next section"},
		{previousTab, []string{"shift+tab", "left", "h"}, "Shift+Tab, left, h", "previous view; in details, previous section"},
		{up, []string{"up", "k"}, "up, k", "up"},
		{down, []string{"down", "j"}, "down, j", "down"},
		{pageUp, []string{"pgup", "ctrl+b", "ctrl+u"}, "PgUp, Ctrl+B", "a screen up"},
		{pageDown, []string{"pgdown", "ctrl+f", "ctrl+d", "space"}, "PgDn, Ctrl+F, space", "a screen down"},
		{first, []string{"home", "g"}, "Home, g", "first row"},
		{last, []string{"end", "G"}, "End, G", "last row"},
		{open, []string{"enter"}, "Enter", "details of the row; in Cost, the nodes that it counts"},
		{back, []string{"esc", "backspace"}, "Esc", "back; in a list, remove the filter"},
		{filter, []string{"/"}, "/", "filter: rows with all words, and without words after !"},
		{sortNext, []string{"s"}, "s", "order by the next column, at last as the view does"},
		{sortReverse, []string{"S"}, "S", "reverse the order"},
		{showUnknown, []string{"u"}, "u", "what the view does not know or leaves out"},
		{refresh, []string{"r", "ctrl+r"}, "r", "read the cluster now"},
		{pause, []string{"p"}, "p", "pause, or go on"},
		{help, []string{"?", "f1"}, "?", "this help"},
		{quit, []string{"q", "ctrl+c"}, "q", "quit"},
	}
}

// actionOf is what a key does.
func actionOf(key string) action {
	for _, b := range bindings() {
		for _, k := range b.keys {
			if k == key {
				return b.action
			}
		}
	}
	return noAction
}

// helpPage lists the keys.
func (w writer) helpPage() []line {
	var out []line
	for _, b := range bindings() {
		out = append(out, line{{"  " + pad(b.shown, 20, false), strong}, {text: b.about}})
	}
	out = append(out, section("What is shown"))
	return append(out, w.prose(strings.Join([]string{
		"  Bars are what the pods on a node request of what pods can use there; a number of them is not the load.",
		"  REASON is why there is a reason to disrupt a node, and what prevents it: docs/reference/obstacles.md.",
		"  ? in a cell is a value that is not known. ~ is where text is cut off: a wider terminal or Enter shows it.",
		"  Nothing is changed in the cluster.",
	}, "\n"))...)
}

// KeyTable is the table of keys in Markdown, for docs/top.md.
func KeyTable() string {
	var b strings.Builder
	b.WriteString("| Key | What it does |\n|---|---|\n")
	for _, k := range bindings() {
		fmt.Fprintf(&b, "| `%s` | %s%s |\n", strings.ReplaceAll(k.shown, ", ", "`, `"), strings.ToUpper(k.about[:1]), k.about[1:])
	}
	return b.String()
}
