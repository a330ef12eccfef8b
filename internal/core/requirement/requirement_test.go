package requirement

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// sampleValues returns the values that the laws are tried on: words and integers around those that requirements are made of.
func sampleValues() []string {
	out := []string{"A", "B", "C", "", "-", "01"}
	for n := -3; n <= 13; n++ {
		out = append(out, strconv.Itoa(n))
	}
	return append(out, strconv.FormatInt(math.MaxInt64, 10), strconv.FormatInt(math.MinInt64, 10))
}

// entry is a requirement in API form, evaluated by brute force.
type entry struct {
	op     Operator
	values []string
}

func (e entry) build() Requirement { return New("k", e.op, e.values...) }

func (e entry) String() string { return fmt.Sprint(e.op, e.values) }

// accepts evaluates the operators literally.
func (e entry) accepts(v string) bool {
	switch e.op {
	case In:
		return slices.Contains(e.values, v)
	case NotIn:
		return !slices.Contains(e.values, v)
	case Exists:
		return true
	case DoesNotExist:
		return false
	}
	n, err := strconv.ParseInt(v, 10, 64)
	bound, boundErr := strconv.ParseInt(e.values[0], 10, 64)
	if err != nil || boundErr != nil {
		return false
	}
	switch e.op {
	case Gt:
		return n > bound
	case Gte:
		return n >= bound
	case Lt:
		return n < bound
	default:
		return n <= bound
	}
}

func (e entry) acceptsAbsence() bool {
	return e.op == NotIn || e.op == DoesNotExist || e.op == In && len(e.values) == 0
}

// table are the fourteen requirements of the intersection table.
func table() []entry {
	return []entry{
		{Exists, nil},
		{DoesNotExist, nil},
		{In, []string{"A"}},
		{In, []string{"B"}},
		{In, []string{"A", "B"}},
		{NotIn, []string{"A"}},
		{In, []string{"1"}},
		{In, []string{"9"}},
		{In, []string{"1", "9"}},
		{NotIn, []string{"1", "2"}},
		{Gt, []string{"1"}},
		{Gt, []string{"9"}},
		{Lt, []string{"1"}},
		{Lt, []string{"9"}},
	}
}

// TestEveryPairOfOperatorsIntersectsToWhatBothAccept compares both orders of every pair with brute force.
func TestEveryPairOfOperatorsIntersectsToWhatBothAccept(t *testing.T) {
	t.Attr("covers", "L034 L035")
	for _, a := range table() {
		for _, b := range table() {
			checkIntersection(t, []entry{a, b}, a.build().Intersect(b.build()))
		}
	}
}

type failer interface{ Errorf(string, ...any) }

func checkIntersection(t failer, of []entry, got Requirement) {
	for _, v := range sampleValues() {
		want := true
		for _, e := range of {
			want = want && e.accepts(v)
		}
		if got.Has(v) != want {
			t.Errorf("∩%v = %s: Has(%q) = %v, want %v", of, got, v, got.Has(v), want)
		}
	}
	absence := true
	for _, e := range of {
		absence = absence && e.acceptsAbsence()
	}
	if got.AllowsAbsence() != absence {
		t.Errorf("∩%v = %s: allows absence %v, want %v", of, got, got.AllowsAbsence(), absence)
	}
}

func TestIntersectionReadsAsExpected(t *testing.T) {
	for _, c := range []struct {
		a, b entry
		want string
	}{
		{entry{In, []string{"A"}}, entry{NotIn, []string{"A"}}, "k DoesNotExist"},
		{entry{In, []string{"A", "B"}}, entry{NotIn, []string{"A"}}, "k In [B]"},
		{entry{Exists, nil}, entry{In, []string{"A"}}, "k In [A]"},
		{entry{DoesNotExist, nil}, entry{In, []string{"A"}}, "k DoesNotExist"},
		{entry{In, []string{"A"}}, entry{Gt, []string{"1"}}, "k DoesNotExist"},
		{entry{In, []string{"1", "9"}}, entry{Gt, []string{"1"}}, "k In [9]"},
		{entry{Gt, []string{"9"}}, entry{Lt, []string{"1"}}, "k DoesNotExist"},
		{entry{NotIn, []string{"1", "2"}}, entry{Gt, []string{"1"}}, "k NotIn [2] >=2"},
		{entry{Gte, []string{"2"}}, entry{Lte, []string{"8"}}, "k Exists >=2 <=8"},
		{entry{Gt, []string{"3"}}, entry{Gte, []string{"3"}}, "k Exists >=4"},
		{entry{Lt, []string{"3"}}, entry{Lte, []string{"3"}}, "k Exists <=2"},
		{entry{Gte, []string{"0"}}, entry{Lte, []string{"0"}}, "k Exists >=0 <=0"},
	} {
		if got := c.a.build().Intersect(c.b.build()).String(); got != c.want {
			t.Errorf("%v ∩ %v = %s, want %s", c.a, c.b, got, c.want)
		}
	}
}

func drawEntry(t *rapid.T, name string) entry {
	op := rapid.SampledFrom([]Operator{In, NotIn, Exists, DoesNotExist, Gt, Lt, Gte, Lte}).Draw(t, name)
	switch op {
	case In, NotIn:
		values := rapid.SampledFrom([]string{"A", "B", "-", "-1", "0", "1", "2", "9", "10"})
		return entry{op, rapid.SliceOfN(values, 0, 4).Draw(t, name+" values")}
	case Exists, DoesNotExist:
		return entry{op, nil}
	}
	bound := rapid.OneOf(rapid.Int64Range(-2, 11), rapid.SampledFrom([]int64{math.MaxInt64, math.MinInt64}))
	return entry{op, []string{strconv.FormatInt(bound.Draw(t, name+" bound"), 10)}}
}

func drawAll(t *rapid.T) []entry {
	out := make([]entry, rapid.IntRange(1, 4).Draw(t, "number"))
	for i := range out {
		out[i] = drawEntry(t, fmt.Sprintf("requirement %d", i))
	}
	return out
}

func meet(list []entry) Requirement {
	out := list[0].build()
	for _, e := range list[1:] {
		out = out.Intersect(e.build())
	}
	return out
}

func TestLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list, other := drawAll(t), drawAll(t)
		a, b := meet(list), meet(other)
		checkIntersection(t, list, a)
		checkIntersection(t, append(slices.Clip(list), other...), a.Intersect(b))
		if x, y := a.Intersect(b), b.Intersect(a); !x.Equal(y) {
			t.Errorf("order matters: %s and %s", x, y)
		}
		if !a.Intersect(a).Equal(a) {
			t.Errorf("%s ∩ itself = %s", a, a.Intersect(a))
		}
		if all := a.Intersect(New("k", Exists)); !slices.Equal(all.Values(), a.Values()) || all.Complement() != a.Complement() {
			t.Errorf("%s ∩ Exists = %s", a, all)
		}
		checkHasIntersection(t, a, b)
		checkAny(t, a)
		checkEntries(t, a)
	})
}

// checkHasIntersection compares HasIntersection with Intersect. Two complements intersect whenever their bounds do.
func checkHasIntersection(t *rapid.T, a, b Requirement) {
	want := a.Intersect(b).Len() > 0
	if got := a.HasIntersection(b); got != want {
		t.Errorf("%s and %s intersect: %v, want %v", a, b, got, want)
	}
	if a.HasIntersection(b) != b.HasIntersection(a) {
		t.Errorf("%s and %s: order matters", a, b)
	}
}

// checkAny expects a member where there is one that can be written as a label, and never a panic.
func checkAny(t *rapid.T, r Requirement) {
	v := r.Any()
	if v != "" && !r.Has(v) {
		t.Errorf("%s: Any is %q, which it does not accept", r, v)
	}
	if v == "" && !r.Complement() && len(r.Values()) > 0 {
		t.Errorf("%s: Any is empty", r)
	}
	for n := range 30 {
		if s := strconv.Itoa(n); v == "" && r.Has(s) {
			t.Errorf("%s: Any is empty, though %s would do", r, s)
		}
	}
}

// checkEntries checks that the API form is equivalent.
func checkEntries(t *rapid.T, r Requirement) {
	var back []Requirement
	for _, e := range r.Entries() {
		back = append(back, New(e.Key, e.Operator, e.Values...).WithMinValues(e.MinValues))
	}
	again := NewSet(back...).Get("k")
	for _, v := range sampleValues() {
		if r.Has(v) != again.Has(v) {
			t.Errorf("%s reads back as %s, which differs on %q", r, again, v)
		}
	}
}

// TestMinValuesOfAnIntersectionIsTheLarger also covers an empty intersection, which keeps minValues.
func TestMinValuesOfAnIntersectionIsTheLarger(t *testing.T) {
	t.Attr("covers", "L036 L037")
	for _, c := range []struct{ a, b, want int }{{0, 0, 0}, {3, 0, 3}, {0, 3, 3}, {2, 5, 5}} {
		a := New("k", Gt, "9").WithMinValues(c.a)
		for _, b := range []Requirement{New("k", In, "10", "11"), New("k", Lt, "1")} {
			if got := a.Intersect(b.WithMinValues(c.b)).MinValues(); got != c.want {
				t.Errorf("minValues %d and %d make %d, want %d", c.a, c.b, got, c.want)
			}
		}
	}
}

func TestDerivedProperties(t *testing.T) {
	t.Attr("covers", "L039 L040 L047 L048")
	for _, c := range []struct {
		name string
		r    Requirement
		op   Operator
		size int64
	}{
		{"members once", New("k", In, "A", "A", "B"), In, 2},
		{"no members", New("k", In), DoesNotExist, 0},
		{"an exclusion", New("k", NotIn, "A"), NotIn, math.MaxInt64 - 1},
		{"everything", New("k", Exists), Exists, math.MaxInt64},
		{"a lower bound", New("k", Gt, "3"), Exists, math.MaxInt64},
		{"two bounds", New("k", Gt, "3").Intersect(New("k", Lt, "9")), Exists, math.MaxInt64},
		{"nothing", New("k", DoesNotExist), DoesNotExist, 0},
		{"above the largest", New("k", Gt, strconv.FormatInt(math.MaxInt64, 10)), DoesNotExist, 0},
		{"below the smallest", New("k", Lt, strconv.FormatInt(math.MinInt64, 10)), DoesNotExist, 0},
		{"no number", New("k", Gt, "not a number"), DoesNotExist, 0},
		{"contradicting bounds", New("k", Gt, "5").Intersect(New("k", Lt, "5")), DoesNotExist, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.r.Operator() != c.op || c.r.Len() != c.size {
				t.Errorf("%s: operator %s and length %d, want %s and %d", c.r, c.r.Operator(), c.r.Len(), c.op, c.size)
			}
		})
	}
}

func TestHas(t *testing.T) {
	t.Attr("covers", "L038")
	for _, c := range []struct {
		r        Requirement
		has, not []string
	}{
		{New("k", In, "A", "1"), []string{"A", "1"}, []string{"B", ""}},
		{New("k", NotIn, "A"), []string{"B", "1", ""}, []string{"A"}},
		{New("k", Gt, "1"), []string{"2", "10"}, []string{"1", "0", "many", "", "2.5"}},
		{New("k", Lte, "9"), []string{"9", "-4"}, []string{"10", "few"}},
		{New("k", Gt, "1").Intersect(New("k", NotIn, "5")), []string{"4", "6"}, []string{"5", "1"}},
	} {
		for _, v := range c.has {
			if !c.r.Has(v) {
				t.Errorf("%s does not accept %q", c.r, v)
			}
		}
		for _, v := range c.not {
			if c.r.Has(v) {
				t.Errorf("%s accepts %q", c.r, v)
			}
		}
	}
}

// TestBoundsMatchTheOperators crosses all pairs of comparisons around a few numbers with what they mean: the tighter
// of two holds, Gt is the Gte of the next number, and Lt the Lte of the one before.
func TestBoundsMatchTheOperators(t *testing.T) {
	t.Attr("covers", "L045 L046")
	comparisons := []Operator{Gt, Gte, Lt, Lte}
	for _, a := range comparisons {
		for _, b := range comparisons {
			for m := range 4 {
				for n := range 4 {
					one, other := entry{a, []string{strconv.Itoa(m)}}, entry{b, []string{strconv.Itoa(n)}}
					checkIntersection(t, []entry{one, other}, one.build().Intersect(other.build()))
				}
			}
		}
	}
	for _, pair := range [][2]entry{
		{{Gt, []string{"3"}}, {Gte, []string{"4"}}},
		{{Lt, []string{"3"}}, {Lte, []string{"2"}}},
		{{Gt, []string{"-1"}}, {Gte, []string{"0"}}},
	} {
		if a, b := pair[0].build(), pair[1].build(); !a.Equal(b) {
			t.Errorf("%s and %s differ", a, b)
		}
	}
}

func TestEntries(t *testing.T) {
	t.Attr("covers", "L044 L057")
	for _, c := range []struct {
		name string
		r    Requirement
		want []Entry
	}{
		{"In", New("k", In, "b", "a"), []Entry{{Key: "k", Operator: In, Values: []string{"a", "b"}}}},
		{"NotIn", New("k", NotIn, "b", "a"), []Entry{{Key: "k", Operator: NotIn, Values: []string{"a", "b"}}}},
		{"Exists", New("k", Exists), []Entry{{Key: "k", Operator: Exists}}},
		{"DoesNotExist", New("k", DoesNotExist), []Entry{{Key: "k", Operator: DoesNotExist}}},
		{"Gt", New("k", Gt, "3"), []Entry{{Key: "k", Operator: Gte, Values: []string{"4"}}}},
		{"Lt", New("k", Lt, "3"), []Entry{{Key: "k", Operator: Lte, Values: []string{"2"}}}},
		{"two bounds, two entries", New("k", Gte, "3").Intersect(New("k", Lte, "9")).WithMinValues(2), []Entry{
			{Key: "k", Operator: Gte, Values: []string{"3"}, MinValues: 2}, {Key: "k", Operator: Lte, Values: []string{"9"}, MinValues: 2},
		}},
		{"an exclusion beside a bound", New("k", Gt, "2").Intersect(New("k", NotIn, "5")), []Entry{
			{Key: "k", Operator: Gte, Values: []string{"3"}}, {Key: "k", Operator: NotIn, Values: []string{"5"}},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, c.r.Entries()); diff != "" {
				t.Error(diff)
			}
			var back []Requirement
			for _, e := range c.r.Entries() {
				back = append(back, New(e.Key, e.Operator, e.Values...).WithMinValues(e.MinValues))
			}
			if again := NewSet(back...).Get("k"); !again.Equal(c.r) {
				t.Errorf("%s reads back as %s", c.r, again)
			}
		})
	}
}

func TestAnyIsAMember(t *testing.T) {
	t.Attr("covers", "L041")
	for _, c := range []struct {
		r    Requirement
		want string
	}{
		{New("k", In, "b", "a"), "a"},
		{New("k", Exists), "0"},
		{New("k", NotIn, "0", "1"), "2"},
		{New("k", Gt, "3"), "4"},
		{New("k", Gt, "3").Intersect(New("k", Lt, "5")), "4"},
		{New("k", DoesNotExist), ""},
	} {
		if got := c.r.Any(); got != c.want {
			t.Errorf("%s: any is %q, want %q", c.r, got, c.want)
		}
	}
}

func TestString(t *testing.T) {
	t.Attr("covers", "L043")
	for _, c := range []struct {
		r    Requirement
		want string
	}{
		{New("k", In, "e", "d", "c", "b", "a"), "k In [a b c d e]"},
		{New("k", In, "g", "f", "e", "d", "c", "b", "a"), "k In [a b c d e and 2 others]"},
		{New("k", NotIn, "a").WithMinValues(2), "k NotIn [a] minValues 2"},
		{New("k", Exists), "k Exists"},
		{New("k", DoesNotExist), "k DoesNotExist"},
		{New("k", Gt, "1").Intersect(New("k", Lt, "9")), "k Exists >=2 <=8"},
	} {
		if got := c.r.String(); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

func TestNewLeavesItsArgumentsAlone(t *testing.T) {
	values := []string{"b", "a", "b"}
	New("k", In, values...)
	if !slices.Equal(values, []string{"b", "a", "b"}) {
		t.Errorf("values became %v", values)
	}
}

func TestAnyOfTheSmallestBoundIsNoPanic(t *testing.T) {
	t.Attr("covers", "L042")
	for _, r := range []Requirement{
		New("k", Lt, "0"), New("k", Lte, "0"), New("k", Gte, strconv.FormatInt(math.MaxInt64, 10)),
		New("k", Gte, strconv.FormatInt(math.MaxInt64, 10)).Intersect(New("k", NotIn, strconv.FormatInt(math.MaxInt64, 10))),
		New("k", Gt, "3").Intersect(New("k", Lt, "5")),
	} {
		if v := r.Any(); v != "" && !r.Has(v) {
			t.Errorf("%s: %q", r, v)
		}
	}
}
