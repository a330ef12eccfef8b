package screen

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/karpenter-anew/karpenter/internal/view"
)

// unknown is how a value is drawn that is not known.
const unknown = "?"

// dollars is a price per hour.
func dollars(perHour float64) string {
	digits := 4
	if perHour >= 100 || perHour <= -100 {
		digits = 2
	}
	text := strconv.FormatFloat(perHour, 'f', digits, 64)
	if rest, negative := strings.CutPrefix(text, "-"); negative {
		return "-$" + rest
	}
	return "$" + text
}

// knownDollars is a price that may be unknown.
func knownDollars(perHour *float64) string {
	if perHour == nil {
		return unknown
	}
	return dollars(*perHour)
}

// sum is a price without that of some nodes.
func sum(perHour float64, unpriced int) string {
	if unpriced == 0 {
		return dollars(perHour) + "/h"
	}
	return fmt.Sprintf("at least %s/h (%s of unknown price)", dollars(perHour), counted(unpriced, "node"))
}

// cores is an amount of CPU, in thousandths of a core.
func cores(milli int64) string {
	return strconv.FormatFloat(float64(milli)/1000, 'f', -1, 64)
}

// binary is an amount of memory.
func binary(n int64) string {
	units := []string{"", "Ki", "Mi", "Gi", "Ti", "Pi"}
	value, unit := float64(n), 0
	for value >= 1024 && unit < len(units)-1 {
		value, unit = value/1024, unit+1
	}
	if value < 10 && value != float64(int64(value)) {
		return strconv.FormatFloat(value, 'f', 1, 64) + units[unit]
	}
	return strconv.FormatFloat(value, 'f', 0, 64) + units[unit]
}

// share is the part of an amount that is used; false where there is none or it is unknown.
func share(of func(view.Amounts) int64, requested *view.Amounts, allocatable view.Amounts) (float64, bool) {
	if requested == nil || of(allocatable) <= 0 {
		return 0, false
	}
	return float64(of(*requested)) / float64(of(allocatable)), true
}

func cpuOf(a view.Amounts) int64    { return a.CPU }
func memoryOf(a view.Amounts) int64 { return a.Memory }

// bar draws a share in a width of at least 6, as htop does.
func bar(share float64, known bool, to int) string {
	inner := max(to-2, 4)
	label, filled := unknown, 0
	if known {
		label = strconv.Itoa(int(share*100+0.5)) + "%"
		filled = min(int(share*float64(inner)+0.5), inner)
	}
	cells := []byte(strings.Repeat("|", filled) + strings.Repeat(" ", inner-filled))
	copy(cells[inner-min(len(label), inner):], label)
	return "[" + string(cells) + "]"
}

// fullness is the role of a share: nodes that are nearly empty cost the most.
func fullness(share float64, known bool) role {
	switch {
	case !known:
		return faint
	case share > 1:
		return bad
	case share < 0.3:
		return warn
	}
	return good
}

// age is a duration in two units at most, as kubectl has it.
func age(d time.Duration) string {
	d = max(d, 0)
	switch {
	case d < 2*time.Minute:
		return strconv.Itoa(int(d.Seconds())) + "s"
	case d < 10*time.Minute:
		return fmt.Sprintf("%dm%ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 3*time.Hour:
		return strconv.Itoa(int(d.Minutes())) + "m"
	case d < 48*time.Hour:
		return strconv.Itoa(int(d.Hours())) + "h"
	}
	return strconv.Itoa(int(d.Hours()/24)) + "d"
}

// since is the age of something at a moment; unknown for a zero time.
func since(then, now time.Time) string {
	if then.IsZero() {
		return unknown
	}
	return age(now.Sub(then))
}

// counted is a number with a noun.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// listed names the first of many, and how many more there are.
func listed(names []string, all, most int) string {
	shown := names[:min(len(names), most)]
	text := strings.Join(shown, ", ")
	switch rest := all - len(shown); {
	case rest > 0 && len(shown) > 0:
		return fmt.Sprintf("%s and %d more", text, rest)
	case rest > 0:
		return strconv.Itoa(rest)
	}
	return text
}
