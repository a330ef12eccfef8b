package unschedulable

import (
	"fmt"
)

// PodGroup is what keeps a group of pods from being placed.
type PodGroup struct {
	// Name is namespace/name of the group.
	Name string
	// Needed is how many members have to run at once, Placeable how many could: those that run already included.
	Needed, Placeable int
	// Known is how many members run or wait for a node.
	Known int
	// Mismatch is in what the members disagree with each other or with the group.
	Mismatch string
	// Key is the node label of which all members need the same value; empty if they may be anywhere.
	Key string
}

// headline is the message for a reason of a group.
func (g PodGroup) headline(code Code) string {
	switch code {
	case PodGroupMissing:
		return fmt.Sprintf("pod group %q does not exist", g.Name)
	case PodGroupMismatch:
		return fmt.Sprintf("pods do not match pod group %q, %s", g.Name, g.Mismatch)
	case PodGroupTopologyUnknown:
		return fmt.Sprintf("pod group %q needs one value of label %s for all pods, which no instance type, NodePool or node defines", g.Name, g.Key)
	}
	return fmt.Sprintf("pod group %q needs %d pods at once, %s", g.Name, g.Needed, g.shortfall())
}

// shortfall is how many pods of the group there are, or can be placed.
func (g PodGroup) shortfall() string {
	if g.Known < g.Needed {
		return fmt.Sprintf("%d run or wait for a node", g.Known)
	}
	within := ""
	if g.Key != "" {
		within = " with the same value of label " + g.Key
	}
	return fmt.Sprintf("%d can be placed%s", g.Placeable, within)
}
