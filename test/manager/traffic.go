package manager

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// traffic counts requests.
type traffic struct {
	violated func(name, format string, args ...any)

	mu sync.Mutex
	// total are the requests by what they ask for; instant are those of the current time, and minute those of the current minute.
	total   map[string]int
	instant int
	minute  map[string]int
	at      time.Time
	began   time.Time
	// most are the most requests in a minute, by what they ask for.
	most map[string]int
}

const (
	// mostAtOnce is how many requests there may be at one time: each takes some time, except where something is repeated without a delay.
	mostAtOnce = 20_000
	// mostInAMinute is how many requests of one kind a replica may make in a minute.
	mostInAMinute = 3000
)

func newTraffic() *traffic {
	return &traffic{total: map[string]int{}, minute: map[string]int{}, most: map[string]int{}, began: time.Now()}
}

// count counts a request.
func (t *traffic) count(by *Replica, what operation) {
	now := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	name := what.String()
	t.total[name]++
	if t.instant++; !now.Equal(t.at) {
		t.at, t.instant = now, 0
	}
	if t.instant > mostAtOnce {
		panic(fmt.Sprintf("busy loop: %s by %s", name, by.name)) // the time stands still
	}
	if now.Sub(t.began) >= time.Minute {
		for _, key := range slices.Sorted(maps.Keys(t.minute)) {
			n := t.minute[key]
			if t.most[key] = max(t.most[key], n); n > mostInAMinute {
				t.violated("hot loop", "%d requests in a minute: %s", n, key)
			}
		}
		clear(t.minute)
		t.began = now
	}
	t.minute[by.name+" "+name]++
}

// since are the requests after before, by what they ask for, without those that renew the lease and watches; all is their number with them.
func (t *traffic) since(before map[string]int) (others map[string]int, all int) {
	others = t.snapshot()
	for name, n := range others {
		others[name] = n - before[name]
		all += others[name]
	}
	maps.DeleteFunc(others, func(name string, n int) bool {
		return n == 0 || strings.HasSuffix(name, " leases") || strings.HasPrefix(name, "watch ")
	})
	return others, all
}

// snapshot are all requests so far, by what they ask for.
func (t *traffic) snapshot() map[string]int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.total)
}
