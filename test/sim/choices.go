package sim

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Choice is one thing that the seed has chosen to happen: an action of users, or a fault. It is named by what is drawn and by which draw of
// that name it was, so that leaving it out moves no other.
type Choice struct {
	Name string
	N    int
}

func (c Choice) String() string { return fmt.Sprintf("%s %d", c.Name, c.N) }

// chosen is asked for each thing that the seed has chosen to happen, and reports whether it does.
func (w *World) chosen(name string, n int) bool {
	c := Choice{name, n}
	if w.only != nil && !w.only[c] {
		return false
	}
	w.Choices = append(w.Choices, c)
	return true
}

// restrict leaves out all choices but these.
func (w *World) restrict(choices []Choice) {
	w.only = make(map[Choice]bool, len(choices))
	for _, c := range choices {
		w.only[c] = true
	}
}

// Case is a run of the simulation in few words: the seed, and which of its choices happen.
type Case struct {
	// About is a comment: what it is for.
	About []string
	Seed  uint64
	// Set are settings as in Set, Hours is the simulated time with faults, and Quiet that in which nothing may move at the end.
	Set   string
	Hours float64
	Quiet time.Duration
	// Incident is the one whose events happen; empty for none.
	Incident string
	// Scene is the exploration that it is of, and Depth how many choices it had; empty for a run of a seed. It has no other settings.
	Scene string
	Depth int
	// Violated is the invariant that did not hold when the case was made.
	Violated string
	// Choices are those that happen. All others of the seed do not.
	Choices []Choice
}

// String is what ParseCase reads.
func (c *Case) String() string {
	var b strings.Builder
	for _, line := range c.About {
		fmt.Fprintf(&b, "# %s\n", line)
	}
	if c.Scene != "" {
		fmt.Fprintf(&b, "scene: %s\ndepth: %d\n", c.Scene, c.Depth)
	} else {
		fmt.Fprintf(&b, "seed: %d\nset: %s\nhours: %v\nquiet: %s\n", c.Seed, c.Set, c.Hours, c.Quiet)
	}
	for _, field := range [][2]string{{"incident", c.Incident}, {"violated", c.Violated}} {
		if field[1] != "" {
			fmt.Fprintf(&b, "%s: %s\n", field[0], field[1])
		}
	}
	b.WriteString("choices:\n")
	for _, choice := range c.Choices {
		fmt.Fprintf(&b, "%s\n", choice)
	}
	return b.String()
}

// ParseCase reads a case: comments after #, lines "name: value", and after "choices:" one choice a line.
func ParseCase(text string) (*Case, error) {
	c := &Case{Choices: []Choice{}}
	listed := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		name, value, _ := strings.Cut(line, ":")
		var err error
		switch {
		case line == "":
		case strings.HasPrefix(line, "#"):
			c.About = append(c.About, strings.TrimSpace(line[1:]))
		case listed:
			err = c.choice(line)
		case line == "choices:":
			listed = true
		default:
			err = c.field(name, strings.TrimSpace(value))
		}
		if err != nil {
			return nil, fmt.Errorf("%q: %w", line, err)
		}
	}
	if !listed || c.Hours <= 0 && (c.Scene == "" || c.Depth <= 0) {
		return nil, errors.New("want seed, set, hours and quiet, or scene and depth; and choices")
	}
	return c, nil
}

func (c *Case) choice(line string) error {
	at := strings.LastIndexByte(line, ' ')
	if at < 0 {
		return errors.New("want a name and a number")
	}
	n, err := strconv.Atoi(line[at+1:])
	c.Choices = append(c.Choices, Choice{line[:at], n})
	return err //nolint:wrapcheck // the caller says which line
}

func (c *Case) field(name, value string) (err error) {
	switch name {
	case "seed":
		c.Seed, err = strconv.ParseUint(value, 10, 64)
	case "set":
		c.Set = value
	case "hours":
		c.Hours, err = strconv.ParseFloat(value, 64)
	case "quiet":
		c.Quiet, err = time.ParseDuration(value)
	case "incident":
		c.Incident = value
	case "scene":
		c.Scene = value
	case "depth":
		c.Depth, err = strconv.Atoi(value)
	case "violated":
		c.Violated = value
	default:
		return errors.New("no such field")
	}
	return err
}

// reduce is delta debugging: it returns items, in their order, of which fails still holds and none of which can be left out alone, or what it
// has got to after so many calls of fails. fails must hold of all items.
func reduce[T any](items []T, calls int, fails func([]T) bool) []T {
	for size := max(1, len(items)/2); ; size = max(1, size/2) {
		before := len(items)
		for from := 0; from < len(items); {
			rest := slices.Concat(items[:from], items[min(from+size, len(items)):])
			if calls--; calls < 0 {
				return items
			}
			if fails(rest) {
				items = rest
			} else {
				from += size
			}
		}
		if size == 1 && len(items) == before {
			return items
		}
	}
}
