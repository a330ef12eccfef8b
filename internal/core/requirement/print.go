package requirement

import (
	"fmt"
	"strconv"
	"strings"
)

// printedValues is how many values String shows before it counts the rest.
const printedValues = 5

// String renders r as `key Operator [v1 v2 …]`, at most five values, then bounds and minValues.
func (r Requirement) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", r.Key, r.Operator())
	if len(r.values) > 0 {
		b.WriteString(" [")
		shown := r.values[:min(len(r.values), printedValues)]
		b.WriteString(strings.Join(shown, " "))
		if rest := len(r.values) - len(shown); rest > 0 {
			fmt.Fprintf(&b, " and %d others", rest)
		}
		b.WriteByte(']')
	}
	if r.bounds.hasLow {
		fmt.Fprintf(&b, " >=%d", r.bounds.low)
	}
	if r.bounds.hasHigh {
		fmt.Fprintf(&b, " <=%d", r.bounds.high)
	}
	if r.MinValues > 0 {
		fmt.Fprintf(&b, " minValues %d", r.MinValues)
	}
	return b.String()
}

// Entry is one requirement as the API writes it.
type Entry struct {
	Key       string
	Operator  Operator
	Values    []string
	MinValues int
}

// Entries renders r in API form: one entry, or several when bounds and exclusions have to be said together. Bounds are
// always written inclusively (Gte, Lte).
func (r Requirement) Entries() []Entry {
	var out []Entry
	add := func(op Operator, values ...string) {
		out = append(out, Entry{Key: r.Key, Operator: op, Values: values, MinValues: r.MinValues})
	}
	if r.bounds.hasLow {
		add(Gte, strconv.FormatInt(r.bounds.low, 10))
	}
	if r.bounds.hasHigh {
		add(Lte, strconv.FormatInt(r.bounds.high, 10))
	}
	if len(out) == 0 || len(r.values) > 0 {
		add(r.Operator(), r.values...)
	}
	return out
}
