package snapshot

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// pseudonyms replaces texts: equal texts by equal replacements, in the same order.
//
// A pseudonym is r<rank>-<hash>, such as r04k-9f2c1ab0: the rank of the text among all that are replaced, and the start of
// a keyed hash of it. All ranks of a snapshot have the same length, so pseudonyms sort as the texts that they replace. A text that
// is composed of two others, such as the name of a ReplicaSet, becomes their pseudonyms joined by a dash. A
// pseudonym is a valid name and label value; that of a text which is no valid label value is none either.
type pseudonyms struct {
	salt  []byte
	parts map[string][2]string
	known map[string]string
}

// pseudonymForm matches the pseudonym of a name.
var pseudonymForm = regexp.MustCompile(`^r[0-9a-z]+-[0-9a-f]{8}!?(-r[0-9a-z]+-[0-9a-f]{8}!?)*$`)

// IsRedacted reports whether the names of objects of a snapshot are pseudonyms: those of all its nodes and pods, and of the objects of Karpenter for
// nodes.
func IsRedacted(objects []client.Object) bool {
	found := false
	for _, o := range objects {
		switch o.GetObjectKind().GroupVersionKind().Kind {
		case "Pod", "Node", "NodeClaim", "NodePool":
			if !pseudonymForm.MatchString(o.GetName()) {
				return false
			}
			found = true
		}
	}
	return found
}

func newPseudonyms(salt []byte) *pseudonyms {
	return &pseudonyms{salt: salt, parts: map[string][2]string{}, known: map[string]string{}}
}

// compose records that whole is first and second joined by a dash.
func (p *pseudonyms) compose(whole, first, second string) {
	p.parts[whole] = [2]string{first, second}
}

// note records a text that will be replaced, and returns it unchanged.
func (p *pseudonyms) note(text string) string {
	if text == "" || text == anyName {
		return text
	}
	p.known[text] = ""
	for _, part := range p.parts[text] {
		p.note(part)
	}
	return text
}

// settle computes the replacements of all recorded texts.
func (p *pseudonyms) settle() {
	sorted := slices.Sorted(maps.Keys(p.known))
	width := len(strconv.FormatInt(int64(len(sorted)), 36))
	for rank, text := range sorted {
		hash := hmac.New(sha256.New, p.salt)
		hash.Write([]byte(text))
		number := strconv.FormatInt(int64(rank), 36)
		pseudonym := fmt.Sprintf("r%s%s-%s", strings.Repeat("0", width-len(number)), number, hex.EncodeToString(hash.Sum(nil)[:4]))
		if len(validation.IsValidLabelValue(text)) > 0 {
			pseudonym += "!"
		}
		p.known[text] = pseudonym
	}
}

// anyName matches every name, and is not replaced.
const anyName = "*"

// of returns the replacement of a recorded text; empty for an empty text.
func (p *pseudonyms) of(text string) string {
	if text == "" || text == anyName {
		return text
	}
	if parts, ok := p.parts[text]; ok {
		return p.of(parts[0]) + "-" + p.of(parts[1])
	}
	return p.known[text]
}
