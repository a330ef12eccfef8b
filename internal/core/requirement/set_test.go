package requirement

import (
	"testing"

	"pgregory.net/rapid"
)

func TestASetIntersectsRepeatedKeys(t *testing.T) {
	t.Attr("covers", "L049 L050")
	s := NewSet(New("b", Exists), New("a", In, "1", "2"), New("a", NotIn, "1"))
	if got, want := s.String(), "a In [2], b Exists"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := s.Get("c").Operator(); got != Exists {
		t.Errorf("a key that is not there reads as %s, want Exists", got)
	}
	added := s.Add(New("a", In, "3"))
	if s.String() != "a In [2], b Exists" || added.Get("a").Len() != 0 {
		t.Errorf("Add made %s of %s", added, s)
	}
	if got, want := s.Replace(New("a", In, "3")).String(), "a In [3], b Exists"; got != want {
		t.Errorf("Replace made %q, want %q", got, want)
	}
	if got, want := s.Without("b", "c").String(), "a In [2]"; got != want {
		t.Errorf("Without made %q, want %q", got, want)
	}
}

func TestASetPrintsInOrderAndWithoutTheHostname(t *testing.T) {
	t.Attr("covers", "L056")
	s := NewSet(New("z", Exists), New("kubernetes.io/hostname", In, "secret"), New("a", DoesNotExist))
	if got, want := s.String(), "a DoesNotExist, z Exists"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestCompatible(t *testing.T) {
	t.Attr("covers", "L051 L052 L053")
	known := func(key string) bool { return key == "known" }
	for _, c := range []struct {
		name            string
		have, want      Set
		strict, relaxed bool
	}{
		{"undefined In", nil, NewSet(New("x", In, "1")), false, false},
		{"undefined Exists", nil, NewSet(New("x", Exists)), false, false},
		{"undefined Gt", nil, NewSet(New("x", Gt, "1")), false, false},
		{"undefined Lt", nil, NewSet(New("x", Lt, "1")), false, false},
		{"undefined NotIn", nil, NewSet(New("x", NotIn, "1")), true, true},
		{"undefined DoesNotExist", nil, NewSet(New("x", DoesNotExist)), true, true},
		{"undefined known In", nil, NewSet(New("known", In, "1")), false, true},
		{"value in common", NewSet(New("x", In, "1", "2")), NewSet(New("x", In, "2", "3")), true, true},
		{"nothing in common", NewSet(New("x", In, "1")), NewSet(New("x", In, "2")), false, false},
		{"absence satisfies both", NewSet(New("x", DoesNotExist)), NewSet(New("x", NotIn, "1")), true, true},
		{"absence against presence", NewSet(New("x", DoesNotExist)), NewSet(New("x", Exists)), false, false},
		{"a contradictory requirement", nil, NewSet(New("x", In, "1"), New("x", In, "2")), false, false},
		{"a contradictory requirement against absence", NewSet(New("x", DoesNotExist)), NewSet(New("x", In, "1"), New("x", In, "2")), false, false},
	} {
		if got := c.have.Compatible(c.want, Strict); got != c.strict {
			t.Errorf("%s, strictly: %v, want %v", c.name, got, c.strict)
		}
		if got := c.have.Compatible(c.want, known); got != c.relaxed {
			t.Errorf("%s, relaxed: %v, want %v", c.name, got, c.relaxed)
		}
		if got := len(c.have.Conflicts(c.want, Strict)) == 0; got != c.strict {
			t.Errorf("%s: Conflicts and Compatible differ", c.name)
		}
	}
}

// TestLabelsSatisfyRequirements compares compatibility with a labelled object with the plain meaning of the operators.
func TestLabelsSatisfyRequirements(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		labels := map[string]string{}
		for _, key := range []string{"x", "y"} {
			if rapid.Bool().Draw(t, "has "+key) {
				labels[key] = rapid.SampledFrom([]string{"A", "B", "1", "2", "9"}).Draw(t, key)
			}
		}
		var wants []Requirement
		want := true
		for _, key := range rapid.SliceOfN(rapid.SampledFrom([]string{"x", "y"}), 0, 3).Draw(t, "keys") {
			e := drawEntry(t, "want "+key)
			wants = append(wants, New(key, e.op, e.values...))
			value, ok := labels[key]
			want = want && (ok && e.accepts(value) || !ok && e.acceptsAbsence())
			// A labelled object agrees with absence only by not having the label.
		}
		if got := Labels(labels).Compatible(NewSet(wants...), Strict); got != want {
			t.Errorf("labels %v and %s: %v, want %v", labels, NewSet(wants...), got, want)
		}
	})
}
