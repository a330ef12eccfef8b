package cluster

// links is a set of names by name.
type links map[string]map[string]bool

func (l links) add(from, to string) {
	if l[from] == nil {
		l[from] = map[string]bool{}
	}
	l[from][to] = true
}

func (l links) remove(from, to string) {
	if delete(l[from], to); len(l[from]) == 0 {
		delete(l, from)
	}
}

// move takes what is linked from one name to another; "" is none.
func (l links) move(to, before, now string) {
	if before == now && l[now][to] {
		return
	}
	l.remove(before, to)
	if now != "" {
		l.add(now, to)
	}
}
