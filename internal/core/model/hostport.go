package model

import "strconv"

// HostPort is a port of the node that a pod uses.
type HostPort struct {
	// IP is the address, or empty for every address of the node.
	IP       string
	Port     int32
	Protocol string
}

// String renders protocol/port, with the address when there is one.
func (p HostPort) String() string {
	out := p.Protocol + "/" + strconv.Itoa(int(p.Port))
	if p.IP != "" {
		out = p.IP + ":" + out
	}
	return out
}

// Conflicts reports whether two pods with these ports cannot share a node: port and protocol are equal, and the addresses are
// equal or one of them means all. Source: scheduling specification, host ports.
func (p HostPort) Conflicts(o HostPort) bool {
	return p.Port == o.Port && p.Protocol == o.Protocol && (p.IP == o.IP || p.IP == "" || o.IP == "")
}

// FirstConflict returns the first of wanted that conflicts with one of used.
func FirstConflict(wanted, used []HostPort) (HostPort, bool) {
	for _, w := range wanted {
		for _, u := range used {
			if w.Conflicts(u) {
				return w, true
			}
		}
	}
	return HostPort{}, false
}
