package device

import "slices"

// agreement is what a constraint has come to while devices are picked one by one.
//
// Devices agree if they have a value of the attribute in common. Those that do not know their value before the machine
// exists may agree by being bound to each other; the two ways do not mix.
type agreement struct {
	begun  bool
	values []Value
	// group is the binding that all devices so far belong to; 0 when they agree by value.
	group int
}

// with is the agreement after one more device, or false if that device does not agree.
func (a agreement) with(values []Value, group int) (agreement, bool) {
	if len(values) == 0 {
		ok := group > 0 && (!a.begun || a.group == group)
		return agreement{begun: true, group: group}, ok
	}
	if !a.begun {
		return agreement{begun: true, values: values}, true
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
	return agreement{begun: true, values: common}, len(common) > 0
}
