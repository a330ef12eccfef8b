// Package spelling finds the words that a user may have meant.
package spelling

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Nearest returns words in the order of their Levenshtein distance from a word that may be mistyped, equally distant ones in alphabetical
// order. The cost is O(len(words) × length²).
func Nearest(mistyped string, words []string) []string {
	type ranked struct {
		word     string
		distance int
	}
	list := make([]ranked, len(words))
	for i, w := range words {
		list[i] = ranked{w, distance(mistyped, w)}
	}
	slices.SortFunc(list, func(a, b ranked) int { return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.word, b.word)) })
	out := make([]string, len(list))
	for i, r := range list {
		out[i] = r.word
	}
	return out
}

// Suggest returns the word nearest to a mistyped one, if it differs from it in at most a quarter of its characters.
func Suggest(mistyped string, words []string) (suggestion string, ok bool) {
	nearest := Nearest(mistyped, words)
	if len(nearest) == 0 || distance(mistyped, nearest[0]) > len(nearest[0])/4 {
		return "", false
	}
	return nearest[0], true
}

// maxMeant is how many words a message suggests.
const maxMeant = 3

// DidYouMean asks whether a user meant one of the words: `, did you mean "default"?`. It names at most three: those that begin with the
// mistyped word, then those that differ from it in at most a third of its characters. It is empty if there are none.
func DidYouMean(mistyped string, words []string) string {
	var longer, similar []string
	for _, w := range Nearest(mistyped, words) {
		switch {
		case mistyped == "" || w == mistyped:
		case strings.HasPrefix(w, mistyped):
			longer = append(longer, fmt.Sprintf("%q", w))
		case distance(mistyped, w) <= len(mistyped)/3:
			similar = append(similar, fmt.Sprintf("%q", w))
		}
	}
	meant := slices.Compact(append(longer, similar...))
	switch len(meant) {
	case 0:
		return ""
	case 1:
		return ", did you mean " + meant[0] + "?"
	}
	return ", did you mean one of " + strings.Join(meant[:min(len(meant), maxMeant)], ", ") + "?"
}

// distance is the Levenshtein distance of two words in bytes: labels are ASCII.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			substituted := diagonal
			if a[i] != b[j] {
				substituted++
			}
			diagonal = row[j+1]
			row[j+1] = min(substituted, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
