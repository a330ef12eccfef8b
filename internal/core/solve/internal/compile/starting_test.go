package compile

import (
	"testing"

	"github.com/karpenter-anew/karpenter/internal/core/model"
)

func TestDaemonSetsWithOneHostPortRunInPlaceOfEachOther(t *testing.T) {
	using := func(ports ...int32) *Class {
		s := &model.Shape{}
		for _, port := range ports {
			s.HostPorts = append(s.HostPorts, model.HostPort{Port: port, Protocol: "TCP"})
		}
		return &Class{Shape: s}
	}
	same := using(80)
	counted := func(c *Class) startingDaemon { return startingDaemon{c, true, true} }
	uncounted := func(c *Class) startingDaemon { return startingDaemon{c, false, true} }
	uncertain := func(c *Class) startingDaemon { return startingDaemon{c, true, false} }
	many := startingDaemons{}
	for range maxExcluding + 1 {
		many = append(many, counted(using(80)))
	}
	for name, c := range map[string]struct {
		daemons      startingDaemons
		fewest, most int
	}{
		"none":                                {nil, 0, 0},
		"without ports":                       {startingDaemons{counted(using()), counted(using())}, 2, 2},
		"one port":                            {startingDaemons{counted(using(80)), counted(using(80))}, 1, 1},
		"one port, of one class":              {startingDaemons{counted(same), counted(same)}, 1, 1},
		"two ports":                           {startingDaemons{counted(using(80)), counted(using(81))}, 2, 2},
		"one between two":                     {startingDaemons{counted(using(80)), counted(using(80, 81)), counted(using(81))}, 1, 2},
		"two for each of two ports":           {startingDaemons{counted(using(80)), counted(using(81)), counted(using(80)), counted(using(81))}, 2, 2},
		"beside one that does not count":      {startingDaemons{counted(using(80)), uncounted(using(80))}, 0, 1},
		"beside one that is not certain":      {startingDaemons{counted(using(80)), uncertain(using(80))}, 1, 1},
		"none of which is certain":            {startingDaemons{uncertain(using(80)), uncertain(using(80))}, 0, 1},
		"too many to look at all of them":     {many, 1, maxExcluding + 1},
		"one that counts, without host ports": {startingDaemons{counted(using()), uncounted(using(80))}, 1, 1},
	} {
		if fewest, most := c.daemons.fewest(), c.daemons.most(); fewest != c.fewest || most != c.most {
			t.Errorf("%s: %d to %d pods run, want %d to %d", name, fewest, most, c.fewest, c.most)
		}
	}
}
