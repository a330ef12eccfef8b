package model

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strings"
)

// position is an entry of a list that is being ordered, and what its key begins with.
type position struct {
	head  uint64
	entry int32
}

// fewPositions is the length below which a list is ordered faster by comparing.
const fewPositions = 1024

// order is the places of the entries of a list in the order of their keys.
//
// Problem: a batch of pods is ordered by name in every pass. Approach: names begin alike; the first eight bytes in which
// they do not are one number, and many numbers are ordered byte by byte, without comparing any. Invariant: only keys with
// equal numbers are compared as strings. Cost: two passes over the list for each of these bytes in which keys differ.
func order[V any](list []entry[V]) []position {
	if len(list) == 0 {
		return nil
	}
	skip := len(list[0].key)
	for _, e := range list {
		skip = min(skip, sharedPrefix(list[0].key, e.key))
	}
	out := make([]position, len(list))
	for i := range list {
		out[i] = position{head(list[i].key[skip:]), int32(i)} //nolint:gosec // a list of pods or nodes
	}
	byKey := func(a, b position) int { return strings.Compare(list[a.entry].key, list[b.entry].key) }
	if len(out) < fewPositions {
		slices.SortFunc(out, func(a, b position) int {
			if a.head != b.head {
				return cmp.Compare(a.head, b.head)
			}
			return byKey(a, b)
		})
		return out
	}
	out = byHead(out)
	for first := 0; first < len(out); {
		end := first + 1
		for end < len(out) && out[end].head == out[first].head {
			end++
		}
		slices.SortFunc(out[first:end], byKey)
		first = end
	}
	return out
}

// byHead is list in the order of heads, equal ones as they were: a radix sort from the last byte to the first. list is used up.
func byHead(list []position) []position {
	differing := uint64(0)
	for _, p := range list {
		differing |= p.head ^ list[0].head
	}
	other := make([]position, len(list))
	for shift := 0; shift < 64; shift += 8 {
		if byte(differing>>shift) == 0 {
			continue
		}
		var next [256]int
		for _, p := range list {
			next[byte(p.head>>shift)]++
		}
		sum := 0
		for b, n := range next {
			next[b], sum = sum, sum+n
		}
		for _, p := range list {
			b := byte(p.head >> shift)
			other[next[b]] = p
			next[b]++
		}
		list, other = other, list
	}
	return list
}

// head is the first eight bytes as a number that is ordered as they are.
func head(s string) uint64 {
	var b [8]byte
	copy(b[:], s)
	return binary.BigEndian.Uint64(b[:])
}

func sharedPrefix(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}
