package device

import "slices"

// constraintState is the state of a matchAttribute constraint while devices are picked one by one.
//
// Devices match if they have a value of the attribute in common. Devices of templates, whose value is not known before the node
// exists, match if they belong to the same binding; the two ways do not mix.
type constraintState struct {
	started bool
	values  []Value
	// group is the binding that all devices so far belong to; 0 if they match by value.
	group int
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
