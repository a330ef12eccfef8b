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
	if r.bounds().hasLow {
		fmt.Fprintf(&b, " >=%d", r.bounds().low)
	}
	if r.bounds().hasHigh {
		fmt.Fprintf(&b, " <=%d", r.bounds().high)
	}
	if r.minValues > 0 {
		fmt.Fprintf(&b, " minValues %d", r.minValues)
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

// Entries renders r in API form: one entry, or several when there are bounds and exclusions. Bounds are
// always written inclusively (Gte, Lte).
func (r Requirement) Entries() []Entry { return r.AppendEntries(nil) }

// AppendEntries appends what Entries renders.
func (r Requirement) AppendEntries(out []Entry) []Entry {
	bounded := false
	if r.bounds().hasLow {
		out, bounded = append(out, r.bound(Gte, r.bounds().low)), true
	}
	if r.bounds().hasHigh {
		out, bounded = append(out, r.bound(Lte, r.bounds().high)), true
	}
	if !bounded || len(r.values) > 0 {
		out = append(out, Entry{Key: r.Key, Operator: r.Operator(), Values: r.values, MinValues: r.MinValues()})
	}
	return out
}

func (r Requirement) bound(op Operator, n int64) Entry {
	return Entry{Key: r.Key, Operator: op, Values: []string{strconv.FormatInt(n, 10)}, MinValues: r.MinValues()}
}
