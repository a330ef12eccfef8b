package reservation

import (
	"fmt"
	"testing"
	"time"
)

func TestReservationsThatAreNotDescribedAreForgotten(t *testing.T) {
	var l Ledger
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range 10 * 24 { // one reservation of each hour of ten days, beside one that stays
		now = now.Add(time.Hour)
		l.Observed(fmt.Sprint("cr-", i), 5, now)
		l.Observed("cr-stays", 7, now)
	}
	if n := len(l.pages); n > 49 {
		t.Errorf("%d reservations are known", n)
	}
	if left := l.Left("cr-stays"); left != 7 {
		t.Errorf("a reservation that is described has %d instances left, want 7", left)
	}
}
