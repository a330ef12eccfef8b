package simulation

import "testing"

// TestReservationsCanBeIgnored: as with a controller whose gate ReservedCapacity is off.
func TestReservationsCanBeIgnored(t *testing.T) {
	for _, ignore := range []bool{false, true} {
		if got := (&clusterObjects{}).builder(nil, Options{IgnoreReservations: ignore}, nil).Policy.ReservedCapacity; got == ignore {
			t.Errorf("reservations are used: %t, want %t", got, !ignore)
		}
	}
}
