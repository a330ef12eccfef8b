package condition

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Set reads and writes the conditions of one object at one moment. It is stateless: two sets of the same
// object see each other's writes.
type Set struct {
	object Object
	now    metav1.Time
}

// For returns the condition set of an object and adds every missing root and dependent condition to it, as Unknown
// since the object's creation. The time is the one that later writes record; it is cut to whole seconds, the
// resolution of the wire format, so that a value does not change by being stored.
func For(o Object, now time.Time) Set {
	s := Set{object: o, now: metav1.NewTime(now.Truncate(time.Second))}
	types := o.ConditionTypes()
	for _, t := range append([]string{types.Root}, types.Dependents...) {
		if s.find(t) == nil {
			s.put(metav1.Condition{
				Type:    t,
				Status:  metav1.ConditionUnknown,
				Reason:  ReasonAwaitingReconciliation,
				Message: messageAwaitingReconciliation,
			})
		}
	}
	return s
}

// Get returns a copy of the condition, or nil when the object has none of that type.
func (s Set) Get(conditionType string) *metav1.Condition {
	if c := s.find(conditionType); c != nil {
		return c.DeepCopy()
	}
	return nil
}

// Root returns a copy of the root condition.
func (s Set) Root() *metav1.Condition {
	return s.Get(s.object.ConditionTypes().Root)
}

// IsTrue reports whether every named condition is True, whatever generation it was observed at. Without names it asks
// for the root.
func (s Set) IsTrue(conditionTypes ...string) bool {
	if len(conditionTypes) == 0 {
		conditionTypes = []string{s.object.ConditionTypes().Root}
	}
	return !slices.ContainsFunc(conditionTypes, func(t string) bool {
		return Status(s.object, t) != metav1.ConditionTrue
	})
}

// True sets a condition True with its own type as the reason and no message. Like every setter it reports whether the
// object changed.
func (s Set) True(conditionType string) bool {
	return s.TrueWithReason(conditionType, conditionType, "")
}

// TrueWithReason sets a condition True.
func (s Set) TrueWithReason(conditionType, reason, message string) bool {
	return s.set(conditionType, metav1.ConditionTrue, reason, message)
}

// False sets a condition False.
func (s Set) False(conditionType, reason, message string) bool {
	return s.set(conditionType, metav1.ConditionFalse, reason, message)
}

// Unknown sets a condition Unknown.
func (s Set) Unknown(conditionType, reason, message string) bool {
	return s.set(conditionType, metav1.ConditionUnknown, reason, message)
}

// Clear removes an independent condition and reports whether it was there. The root and its dependents cannot be
// removed: for them Clear does nothing. The remaining list is ordered by type and the root is left as it is.
func (s Set) Clear(conditionType string) bool {
	types := s.object.ConditionTypes()
	if conditionType == types.Root || slices.Contains(types.Dependents, conditionType) || s.find(conditionType) == nil {
		return false
	}
	list := slices.DeleteFunc(slices.Clone(*s.object.ConditionList()), func(c metav1.Condition) bool {
		return c.Type == conditionType
	})
	slices.SortStableFunc(list, func(a, b metav1.Condition) int { return strings.Compare(a.Type, b.Type) })
	*s.object.ConditionList() = list
	return true
}

// set writes one condition, recomputes the root unless the root itself was written, and reports any difference.
func (s Set) set(conditionType string, status metav1.ConditionStatus, reason, message string) bool {
	before := slices.Clone(*s.object.ConditionList())
	s.put(metav1.Condition{Type: conditionType, Status: status, Reason: reason, Message: message})
	if conditionType != s.object.ConditionTypes().Root {
		s.put(s.summary())
	}
	return !equality.Semantic.DeepEqual(before, *s.object.ConditionList())
}

// put replaces or adds a condition and orders the list. Generation and transition time of the argument are ignored.
// An identical condition leaves the list alone, its order included.
func (s Set) put(c metav1.Condition) {
	c.ObservedGeneration, c.Message = s.object.GetGeneration(), TruncateMessage(c.Message)
	c.LastTransitionTime = s.transition(c)
	list := slices.Clone(*s.object.ConditionList())
	if s.object.GetDeletionTimestamp() != nil {
		for i := range list {
			list[i].ObservedGeneration = c.ObservedGeneration
		}
	}
	if at := slices.IndexFunc(list, func(have metav1.Condition) bool { return have.Type == c.Type }); at < 0 {
		list = append(list, c)
	} else if equality.Semantic.DeepEqual(list[at], c) {
		*s.object.ConditionList() = list
		return
	} else {
		list[at] = c
	}
	root := s.object.ConditionTypes().Root
	slices.SortStableFunc(list, func(a, b metav1.Condition) int {
		if a.Type == root || b.Type == root {
			return cmp.Compare(boolToInt(a.Type == root), boolToInt(b.Type == root))
		}
		return a.LastTransitionTime.Compare(b.LastTransitionTime.Time)
	})
	*s.object.ConditionList() = list
}

// transition is when the condition took on its status: unchanged while the status is, the creation of the object for
// a root or dependent that was never there before (timeouts run from it), and now otherwise.
func (s Set) transition(c metav1.Condition) metav1.Time {
	if have := s.find(c.Type); have != nil {
		if have.Status == c.Status {
			return have.LastTransitionTime
		}
		return s.now
	}
	types := s.object.ConditionTypes()
	created := s.object.GetCreationTimestamp()
	if (c.Type == types.Root || slices.Contains(types.Dependents, c.Type)) && !created.IsZero() {
		return created
	}
	return s.now
}

// summary computes the root from its dependents.
func (s Set) summary() metav1.Condition {
	types := s.object.ConditionTypes()
	generation := s.object.GetGeneration()
	var unhealthy []metav1.Condition
	status, reason := metav1.ConditionTrue, ReasonReady
	for _, t := range types.Dependents {
		c := s.find(t)
		if c == nil {
			c = &metav1.Condition{Type: t, Status: metav1.ConditionUnknown}
		}
		current := c.ObservedGeneration == generation
		if c.Status == metav1.ConditionTrue && current {
			continue
		}
		unhealthy = append(unhealthy, *c)
		if c.Status == metav1.ConditionFalse && current {
			status, reason = metav1.ConditionFalse, ReasonUnhealthyDependents
		} else if status == metav1.ConditionTrue {
			status, reason = metav1.ConditionUnknown, ReasonReconcilingDependents
		}
	}
	slices.SortStableFunc(unhealthy, func(a, b metav1.Condition) int {
		return b.LastTransitionTime.Compare(a.LastTransitionTime.Time)
	})
	parts := make([]string, 0, len(unhealthy))
	for _, c := range unhealthy {
		parts = append(parts, c.Type+"="+string(c.Status))
	}
	return metav1.Condition{Type: types.Root, Status: status, Reason: reason, Message: strings.Join(parts, ", ")}
}

// find returns the condition in place, or nil.
func (s Set) find(conditionType string) *metav1.Condition {
	list := *s.object.ConditionList()
	for i := range list {
		if list[i].Type == conditionType {
			return &list[i]
		}
	}
	return nil
}

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
