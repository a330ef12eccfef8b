package resource

import (
	"slices"
	"strings"
)

// Request is an amount of a resource by its name, above zero.
type Request struct {
	Name   string
	Amount int64
}

// SortRequests sorts list by name, in place, and adds up the requests for the same resource.
func SortRequests(list []Request) []Request {
	slices.SortFunc(list, func(a, b Request) int { return strings.Compare(a.Name, b.Name) })
	out := list[:0]
	for _, r := range list {
		if last := len(out) - 1; last >= 0 && out[last].Name == r.Name {
			out[last].Amount = AddSaturated(out[last].Amount, r.Amount)
			continue
		}
		out = append(out, r)
	}
	return out
}

// FindRequest is the position of name in a sorted list, if it is there.
func FindRequest(list []Request, name string) (int, bool) {
	return slices.BinarySearchFunc(list, name, func(r Request, name string) int { return strings.Compare(r.Name, name) })
}
