package compile

import "slices"

// startingDaemons are DaemonSets whose pods may start on one node. Those that use the same host port exclude each other: whichever pod arrives
// first runs.
type startingDaemons []startingDaemon

type startingDaemon struct {
	*Class
	// counts is set for those that a group counts, certain for those that run unless one that uses the same host port does.
	counts, certain bool
}

// maxExcluding is for how many DaemonSets with host ports of others the number that may run together is exact; for more, all are taken to.
const maxExcluding = 8

func (s *startingDaemons) add(d *Class, counts, certain bool) {
	*s = append(*s, startingDaemon{d, counts, certain})
}

// rivals are the others that use a host port of one of them.
func (s startingDaemons) rivals(i int) (out []int) {
	for k := range s {
		if k != i && len(s[k].Shape.HostPorts) > 0 && s[k].sharesPort(s[i].Class) {
			out = append(out, k)
		}
	}
	return out
}

// most is how many of those that count may run at most.
func (s startingDaemons) most() (pods int) {
	var excluding startingDaemons
	counted := slices.DeleteFunc(slices.Clone(s), func(d startingDaemon) bool { return !d.counts })
	for i, d := range counted {
		if len(counted.rivals(i)) > 0 {
			excluding = append(excluding, d)
		}
	}
	pods = len(counted) - len(excluding)
	if len(excluding) > maxExcluding {
		return pods + len(excluding)
	}
	return pods + excluding.largest()
}

// largest is how many run at most that exclude no other.
func (s startingDaemons) largest() int {
	if len(s) == 0 {
		return 0
	}
	rest := slices.DeleteFunc(slices.Clone(s[1:]), func(d startingDaemon) bool { return d.sharesPort(s[0].Class) })
	with := 1 + rest.largest()
	if len(rest) == len(s)-1 {
		return with
	}
	return max(with, s[1:].largest())
}

// fewest is how many of those that count run at least. Where one of them, or another one that counts, is certain to use a host port, that is one
// pod.
func (s startingDaemons) fewest() (pods int) {
	var seen []int
	for i, d := range s {
		if !d.counts || !d.certain {
			continue
		}
		rivals := s.rivals(i)
		if slices.ContainsFunc(rivals, func(k int) bool { return !s[k].counts || slices.Contains(seen, k) }) || slices.Contains(seen, i) {
			continue
		}
		pods++
		seen = append(append(seen, i), rivals...)
	}
	return pods
}
