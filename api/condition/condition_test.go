package condition_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/karpenter-anew/karpenter/api/condition"
)

// fakeObject is an object with two dependents, A and B.
type fakeObject struct {
	metav1.ObjectMeta
	conditions []metav1.Condition
}

func (m *fakeObject) ConditionList() *[]metav1.Condition { return &m.conditions }

func (m *fakeObject) ConditionTypes() condition.Types {
	return condition.Types{Root: "Ready", Dependents: []string{"A", "B"}}
}

// single is an object without dependents.
type single struct{ fakeObject }

func (s *single) ConditionTypes() condition.Types { return condition.Types{Root: "Ready"} }

// created is when the objects of these tests were made; at is so many seconds later.
var created = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

func at(seconds int) time.Time { return created.Add(time.Duration(seconds) * time.Second) }

func newFakeObject() *fakeObject {
	return &fakeObject{ObjectMeta: metav1.ObjectMeta{Generation: 1, CreationTimestamp: metav1.NewTime(created)}}
}

// is a condition, for comparison.
func is(conditionType string, status metav1.ConditionStatus, reason, message string, seconds int, generation int64) metav1.Condition {
	return metav1.Condition{
		Type: conditionType, Status: status, Reason: reason, Message: message,
		LastTransitionTime: metav1.NewTime(at(seconds)), ObservedGeneration: generation,
	}
}

// check compares the whole list, order included.
func check(t *testing.T, m *fakeObject, want ...metav1.Condition) {
	t.Helper()
	if diff := cmp.Diff(want, m.conditions); diff != "" {
		t.Errorf("conditions (-want +got)\n%s", diff)
	}
}

func TestMissingConditionsAppear(t *testing.T) {
	const message = "object is awaiting reconciliation"
	m := newFakeObject()
	condition.For(m, at(100))
	check(t, m,
		is("A", "Unknown", "AwaitingReconciliation", message, 0, 1),
		is("B", "Unknown", "AwaitingReconciliation", message, 0, 1),
		is("Ready", "Unknown", "AwaitingReconciliation", message, 0, 1),
	)
	before := slices.Clone(m.conditions)
	condition.For(m, at(200))
	if diff := cmp.Diff(before, m.conditions); diff != "" {
		t.Errorf("a complete list changed (-before +after)\n%s", diff)
	}
}

func TestObjectThatWasNeverStored(t *testing.T) {
	m := &fakeObject{}
	condition.For(m, at(7))
	if got := m.conditions[0].LastTransitionTime.Time; !got.Equal(at(7)) {
		t.Errorf("without a creation time, conditions are from %v, want now", got)
	}
}

func TestTrueUsesItsTypeAsReason(t *testing.T) {
	m := newFakeObject()
	condition.For(m, at(1)).True("A")
	want := is("A", "True", "A", "", 1, 1)
	if diff := cmp.Diff(&want, condition.For(m, at(2)).Get("A")); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestRootFollowsDependents(t *testing.T) {
	m := newFakeObject()
	for i, step := range []struct {
		name string
		do   func(condition.Set) bool
		want metav1.Condition
	}{
		{"one True", func(s condition.Set) bool { return s.True("A") }, is("Ready", "Unknown", "ReconcilingDependents", "B=Unknown", 0, 1)},
		{"one False", func(s condition.Set) bool { return s.False("B", "Broken", "no disk") }, is("Ready", "False", "UnhealthyDependents", "B=False", 2, 1)},
		{"False outweighs Unknown, newest first", func(s condition.Set) bool { return s.Unknown("A", "Lost", "") }, is("Ready", "False", "UnhealthyDependents", "A=Unknown, B=False", 2, 1)},
		{"repaired", func(s condition.Set) bool { return s.TrueWithReason("B", "Fixed", "new disk") }, is("Ready", "Unknown", "ReconcilingDependents", "A=Unknown", 4, 1)},
		{"all True", func(s condition.Set) bool { return s.True("A") }, is("Ready", "True", "Ready", "", 5, 1)},
		{"an independent one", func(s condition.Set) bool { return s.False("X", "Broken", "") }, is("Ready", "True", "Ready", "", 5, 1)},
	} {
		s := condition.For(m, at(i+1))
		if !step.do(s) {
			t.Errorf("%s: reported as unchanged", step.name)
		}
		if diff := cmp.Diff(&step.want, s.Root()); diff != "" {
			t.Errorf("%s: root (-want +got)\n%s", step.name, diff)
		}
	}
}

func TestTransitionTime(t *testing.T) {
	m := newFakeObject()
	condition.For(m, at(1)).False("X", "Slow", "first")
	condition.For(m, at(2)).False("X", "Slower", "second")
	if got, want := *condition.For(m, at(3)).Get("X"), is("X", "False", "Slower", "second", 1, 1); !cmp.Equal(got, want) {
		t.Errorf("another reason moved the time: %s", cmp.Diff(want, got))
	}
	condition.For(m, at(4)).True("X")
	if got, want := *condition.For(m, at(5)).Get("X"), is("X", "True", "X", "", 4, 1); !cmp.Equal(got, want) {
		t.Errorf("another status: %s", cmp.Diff(want, got))
	}
	condition.For(m, at(6).Add(900*time.Millisecond)).False("X", "Slow", "")
	if got := condition.For(m, at(7)).Get("X").LastTransitionTime.Time; !got.Equal(at(6)) {
		t.Errorf("time %v is finer than what is stored", got)
	}
}

func TestEqualConditionsAreNoChange(t *testing.T) {
	m := newFakeObject()
	condition.For(m, at(1)).False("A", "Slow", "wait")
	if condition.For(m, at(2)).False("A", "Slow", "wait") {
		t.Error("the same condition was reported as a change")
	}
	for name, set := range map[string]func(condition.Set) bool{
		"status":  func(s condition.Set) bool { return s.Unknown("A", "Slow", "wait") },
		"reason":  func(s condition.Set) bool { return s.False("A", "Slower", "wait") },
		"message": func(s condition.Set) bool { return s.False("A", "Slow", "wait more") },
	} {
		if !set(condition.For(&fakeObject{ObjectMeta: m.ObjectMeta, conditions: slices.Clone(m.conditions)}, at(2))) {
			t.Errorf("another %s was not reported as a change", name)
		}
	}
	m.Generation = 2
	if !condition.For(m, at(2)).False("A", "Slow", "wait") {
		t.Error("another generation was not reported as a change")
	}
}

func TestStaleDependentsHoldTheRootBack(t *testing.T) {
	m := newFakeObject()
	s := condition.For(m, at(1))
	s.True("A")
	s.True("B")
	m.Generation = 2
	if !s.IsTrue() {
		t.Error("the root changed before anything was set")
	}
	s = condition.For(m, at(2))
	s.True("A")
	want := is("Ready", "Unknown", "ReconcilingDependents", "B=True", 2, 2)
	if diff := cmp.Diff(&want, s.Root()); diff != "" {
		t.Errorf("one dependent is current (-want +got)\n%s", diff)
	}
	s.True("B")
	if !s.IsTrue() {
		t.Error("both dependents are current and the root is not True")
	}
	m.Generation = 3
	m.conditions[0].Status = metav1.ConditionFalse
	s = condition.For(m, at(3))
	s.True("X")
	if got := s.Root(); got.Status != metav1.ConditionUnknown {
		t.Errorf("a False of an older generation makes the root %s, want Unknown", got.Status)
	}
}

func TestDeletingRaisesGenerations(t *testing.T) {
	m := newFakeObject()
	s := condition.For(m, at(1))
	s.True("A")
	s.True("B")
	s.True("X")
	m.Generation = 2
	m.DeletionTimestamp = &metav1.Time{Time: at(2)}
	s = condition.For(m, at(2))
	s.True("InstanceTerminating")
	for _, c := range m.conditions {
		if c.ObservedGeneration != 2 {
			t.Errorf("%s was observed at generation %d", c.Type, c.ObservedGeneration)
		}
	}
	if !s.IsTrue("A", "B", "X", "Ready") {
		t.Errorf("a status changed: %v", m.conditions)
	}
}

func TestOrder(t *testing.T) {
	types := func(m *fakeObject) (out []string) {
		for _, c := range m.conditions {
			out = append(out, c.Type)
		}
		return out
	}
	m := newFakeObject()
	condition.For(m, at(3)).True("X")
	condition.For(m, at(2)).True("B")
	condition.For(m, at(4)).True("A")
	if diff := cmp.Diff([]string{"B", "X", "A", "Ready"}, types(m)); diff != "" {
		t.Errorf("by transition time, root last (-want +got)\n%s", diff)
	}
	root := condition.For(m, at(5)).Root()
	condition.For(m, at(5)).Clear("X")
	if diff := cmp.Diff([]string{"A", "B", "Ready"}, types(m)); diff != "" {
		t.Errorf("by type after a clear (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff(root, condition.For(m, at(5)).Root()); diff != "" {
		t.Errorf("a clear changed the root (-before +after)\n%s", diff)
	}
}

func TestClear(t *testing.T) {
	m := newFakeObject()
	s := condition.For(m, at(1))
	s.True("X")
	for conditionType, want := range map[string]bool{"X": true, "Y": false, "A": false, "Ready": false} {
		if got := s.Clear(conditionType); got != want {
			t.Errorf("Clear(%s) = %t, want %t", conditionType, got, want)
		}
	}
	if s.Get("X") != nil || s.Get("A") == nil || s.Get("Ready") == nil {
		t.Errorf("left: %v", m.conditions)
	}
}

func TestRootCanBeSetWithoutDependents(t *testing.T) {
	o := &single{fakeObject: *newFakeObject()}
	s := condition.For(o, at(1))
	if s.IsTrue() {
		t.Error("True before anything was set")
	}
	s.False("Ready", "Missing", "no image")
	want := is("Ready", "False", "Missing", "no image", 1, 1)
	if diff := cmp.Diff(&want, s.Root()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestStatusDoesNotChangeTheObject(t *testing.T) {
	m := newFakeObject()
	if got := condition.Status(m, "A"); got != metav1.ConditionUnknown {
		t.Errorf("a missing condition is %s", got)
	}
	if m.conditions != nil {
		t.Errorf("reading added %v", m.conditions)
	}
	condition.For(m, at(1)).True("A")
	if got := condition.Status(m, "A"); got != metav1.ConditionTrue {
		t.Errorf("A is %s", got)
	}
}

func TestGetReturnsACopy(t *testing.T) {
	m := newFakeObject()
	s := condition.For(m, at(1))
	s.Get("A").Status = metav1.ConditionTrue
	if s.IsTrue("A") {
		t.Error("writing to the result of Get changed the object")
	}
	if s.Get("X") != nil {
		t.Error("Get invents conditions")
	}
}

// TestRootAgreesWithDependents checks the definition of the root after any sequence of writes.
func TestRootAgreesWithDependents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newFakeObject()
		for i := range rapid.IntRange(1, 20).Draw(t, "steps") {
			m.Generation += rapid.Int64Range(0, 1).Draw(t, "edits")
			s := condition.For(m, at(i))
			which := rapid.SampledFrom([]string{"A", "B", "X"}).Draw(t, "type")
			switch rapid.SampledFrom([]string{"True", "False", "Unknown", "Clear"}).Draw(t, "write") {
			case "True":
				s.True(which)
			case "False":
				s.False(which, "Broken", "")
			case "Unknown":
				s.Unknown(which, "Waiting", "")
			case "Clear":
				s.Clear(which)
				continue
			}
			want := metav1.ConditionTrue
			for _, dependent := range []string{"A", "B"} {
				c := s.Get(dependent)
				current := c.ObservedGeneration == m.Generation
				if current && c.Status == metav1.ConditionFalse {
					want = metav1.ConditionFalse
					break
				}
				if !current || c.Status != metav1.ConditionTrue {
					want = metav1.ConditionUnknown
				}
			}
			root := s.Root()
			if root.Status != want || root.ObservedGeneration != m.Generation || (root.Status == metav1.ConditionTrue) != (root.Message == "") {
				t.Fatalf("root %v after %v, want status %s", root, m.conditions, want)
			}
			if last := m.conditions[len(m.conditions)-1]; last.Type != "Ready" {
				t.Fatalf("the root is not last: %v", m.conditions)
			}
		}
	})
}

func TestLongMessagesAreCut(t *testing.T) {
	m := newFakeObject()
	long := strings.Repeat("x", 1<<20)
	condition.For(m, at(1)).False("A", "Failed", long)
	if got := condition.For(m, at(2)).Get("A").Message; len(got) != 1024 {
		t.Errorf("a message of %d bytes", len(got))
	}
	if condition.For(m, at(3)).False("A", "Failed", long) {
		t.Error("the same long message is a change")
	}
}
