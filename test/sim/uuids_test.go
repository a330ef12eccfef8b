package sim

import (
	"bytes"
	"testing"
)

//go:noinline
func drawHere(d *uuidBytes) []byte { return draw16(d) }

//go:noinline
func drawThere(d *uuidBytes) []byte { return draw16(d) }

func draw16(d *uuidBytes) []byte {
	out := make([]byte, 16)
	_, _ = d.Read(out)
	return out
}

// TestIdents: what is drawn in one place does not depend on whether another place draws before, and nothing is drawn twice.
func TestIdents(t *testing.T) {
	draws := func(order string) (out map[string][][]byte) {
		d := &uuidBytes{world: NewWorld(7), drawn: map[uint64]uint64{}}
		out = map[string][][]byte{}
		for _, place := range order {
			if place == 'h' {
				out["here"] = append(out["here"], drawHere(d))
			} else {
				out["there"] = append(out["there"], drawThere(d))
			}
		}
		return out
	}
	a, b := draws("hhtt"), draws("thth")
	seen := map[string]bool{}
	for place := range a {
		for i := range a[place] {
			if !bytes.Equal(a[place][i], b[place][i]) {
				t.Errorf("draw %d %s depends on the order", i, place)
			}
			if seen[string(a[place][i])] {
				t.Errorf("draw %d %s was drawn before", i, place)
			}
			seen[string(a[place][i])] = true
		}
	}
}
