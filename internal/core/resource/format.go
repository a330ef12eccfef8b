package resource

import (
	"slices"
	"strconv"
	"strings"
)

// Format renders the amount at index i as a Kubernetes quantity: cores or millicores for CPU, the largest exact binary
// suffix for memory and storage, a plain number for the rest.
func Format(i int, amount int64) string {
	switch i {
	case CPU:
		if amount%1000 == 0 {
			return strconv.FormatInt(amount/1000, 10)
		}
		return strconv.FormatInt(amount, 10) + "m"
	case Memory, EphemeralStorage:
		return binary(amount)
	default:
		return strconv.FormatInt(amount, 10)
	}
}

func binary(amount int64) string {
	suffix := ""
	for _, next := range []string{"Ki", "Mi", "Gi", "Ti", "Pi"} {
		if amount == 0 || amount%1024 != 0 {
			break
		}
		amount, suffix = amount/1024, next
	}
	return strconv.FormatInt(amount, 10) + suffix
}

// Describe renders the non-zero amounts of v, and unoffered requests, as a JSON object with sorted names.
func Describe(v Vector, names []string, unoffered ...Request) string {
	var parts []string
	add := func(i int, name string, amount int64) {
		parts = append(parts, strconv.Quote(name)+":"+strconv.Quote(Format(i, amount)))
	}
	for i, amount := range v {
		if amount != 0 && i < len(names) && i != Unoffered {
			add(i, names[i], amount)
		}
	}
	for _, r := range unoffered {
		add(Unoffered, r.Name, r.Amount)
	}
	slices.Sort(parts)
	return "{" + strings.Join(parts, ",") + "}"
}
