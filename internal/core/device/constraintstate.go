package device

import "slices"

// constraintState is the state of a constraint while devices are picked one by one.
//
// Devices match if they have a value of the attribute in common. Devices of templates, whose value is not known before the node
// exists, match if they belong to the same binding; the two ways do not mix.
//
// For a constraint of distinct values, values are those of all devices so far, and a device whose value is not known does not match.
type constraintState struct {
	started bool
	values  []Value
	// group is the binding that all devices so far belong to; 0 if they match by value.
	group int
}

// with returns the state of the constraint after one more device, or false if that device does not match.
func (a constraintState) with(c Constraint, values []Value, group int) (constraintState, bool) {
	if !c.Distinct {
		return a.add(values, group)
	}
	if len(values) == 0 || slices.ContainsFunc(values, func(v Value) bool { return slices.Contains(a.values, v) }) {
		return a, false
	}
	return constraintState{started: true, values: slices.Concat(a.values, values)}, true
}

// add returns the state after one more device, or false if that device does not match.
func (a constraintState) add(values []Value, group int) (constraintState, bool) {
	if len(values) == 0 {
		ok := group > 0 && (!a.started || a.group == group)
		return constraintState{started: true, group: group}, ok
	}
	if !a.started {
		return constraintState{started: true, values: values}, true
	}
	if a.group > 0 {
		return a, false
	}
	common := make([]Value, 0, len(a.values))
	for _, v := range a.values {
		if slices.Contains(values, v) {
			common = append(common, v)
		}
	}
	return constraintState{started: true, values: common}, len(common) > 0
}
