package awstest

import (
	"slices"
	"time"
)

// Reservation is a capacity reservation.
type Reservation struct {
	ID, InstanceType, Zone string
	// Owner is an account; empty for this one.
	Owner string
	// Match is open or targeted; empty for targeted.
	Match string
	// Kind is default or capacity-block; empty for old reservations, for which EC2 reports no kind.
	Kind          string
	Interruptible bool
	Total, Left   int
	// End is when it ends; zero for never.
	End  time.Time
	Tags map[string]string
}

// PlacementGroup is a placement group.
type PlacementGroup struct {
	ID, Name, Strategy string
	Partitions         int
	SpreadLevel        string
	// State is the state; empty for available.
	State string
}

// AddReservation adds a capacity reservation, or replaces the one with its id.
func (a *Account) AddReservation(r Reservation) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.reserved = append(slices.DeleteFunc(a.reserved, func(have *Reservation) bool { return have.ID == r.ID }), &r)
}

// EndReservation ends a capacity reservation. Its instances continue to run outside of it.
func (a *Account) EndReservation(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.reserved = slices.DeleteFunc(a.reserved, func(r *Reservation) bool { return r.ID == id })
	for _, i := range a.instances {
		if i.Reservation == id {
			i.Reservation = ""
		}
	}
}

// AddPlacementGroup adds a placement group.
func (a *Account) AddPlacementGroup(g PlacementGroup) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.places = append(slices.DeleteFunc(a.places, func(have PlacementGroup) bool { return have.ID == g.ID }), g)
}

// reservation is a capacity reservation by its id; nil if there is none. The account is locked.
func (a *Account) reservation(id string) *Reservation {
	at := slices.IndexFunc(a.reserved, func(r *Reservation) bool { return r.ID == id })
	if at < 0 {
		return nil
	}
	return a.reserved[at]
}

// or is the first text that is not empty.
func or(text, otherwise string) string {
	if text != "" {
		return text
	}
	return otherwise
}

func describeCapacityReservations(a *Account, f *form) (any, error) {
	conditions, err := filters(f, "state", "owner-id", "instance-match-criteria", "instance-type")
	if err != nil {
		return nil, err
	}
	ids := f.list("CapacityReservationId")
	for _, id := range ids {
		if a.reservation(id) == nil {
			return nil, refuse("InvalidCapacityReservationId.NotFound", "The capacity reservation ID '%s' does not exist", id)
		}
	}
	found := keep(a.reserved, func(r *Reservation) bool {
		return (len(ids) == 0 || slices.Contains(ids, r.ID)) && meets(conditions, r.Tags, map[string][]string{
			"state": {"active"}, "owner-id": {or(r.Owner, AccountID)}, "instance-match-criteria": {or(r.Match, "targeted")}, "instance-type": {r.InstanceType},
		})
	})
	found, token, err := page(f, found, 1000, len(ids) > 0)
	type wire struct {
		ID            string    `xml:"capacityReservationId"`
		Owner         string    `xml:"ownerId"`
		Type          string    `xml:"instanceType"`
		Zone          string    `xml:"availabilityZone"`
		Match         string    `xml:"instanceMatchCriteria"`
		Kind          string    `xml:"reservationType,omitempty"`
		Interruptible *bool     `xml:"interruptible"`
		State         string    `xml:"state"`
		Total         int       `xml:"totalInstanceCount"`
		Left          int       `xml:"availableInstanceCount"`
		End           string    `xml:"endDate,omitempty"`
		Tags          []wireTag `xml:"tagSet>item"`
	}
	answer := struct {
		Reservations []wire `xml:"capacityReservationSet>item"`
		Token        string `xml:"nextToken,omitempty"`
	}{Token: token}
	for _, r := range found {
		w := wire{
			ID: r.ID, Owner: or(r.Owner, AccountID), Type: r.InstanceType, Zone: r.Zone, Match: or(r.Match, "targeted"), Kind: r.Kind,
			State: "active", Total: r.Total, Left: r.Left, Tags: wireTags(r.Tags),
		}
		if r.Interruptible {
			w.Interruptible = &r.Interruptible
		}
		if !r.End.IsZero() {
			w.End = stamp(r.End)
		}
		answer.Reservations = append(answer.Reservations, w)
	}
	return answer, err
}

func describePlacementGroups(a *Account, f *form) (any, error) {
	conditions, err := filters(f, "state", "strategy")
	if err != nil {
		return nil, err
	}
	ids, names := f.list("GroupId"), f.list("GroupName")
	for _, id := range ids {
		if !slices.ContainsFunc(a.places, func(g PlacementGroup) bool { return g.ID == id }) {
			return nil, refuse("InvalidPlacementGroupId.Unknown", "The Placement Group '%s' is unknown.", id)
		}
	}
	for _, name := range names {
		if !slices.ContainsFunc(a.places, func(g PlacementGroup) bool { return g.Name == name }) {
			return nil, refuse("InvalidPlacementGroup.Unknown", "The Placement Group '%s' is unknown.", name)
		}
	}
	type wire struct {
		ID         string `xml:"groupId"`
		Name       string `xml:"groupName"`
		Strategy   string `xml:"strategy"`
		Partitions int    `xml:"partitionCount,omitempty"`
		Spread     string `xml:"spreadLevel,omitempty"`
		State      string `xml:"state"`
	}
	var found []wire
	for _, g := range a.places {
		state := or(g.State, "available")
		if (len(ids) == 0 || slices.Contains(ids, g.ID)) && (len(names) == 0 || slices.Contains(names, g.Name)) &&
			meets(conditions, nil, map[string][]string{"state": {state}, "strategy": {g.Strategy}}) {
			found = append(found, wire{g.ID, g.Name, g.Strategy, g.Partitions, g.SpreadLevel, state})
		}
	}
	return struct {
		Groups []wire `xml:"placementGroupSet>item"`
	}{found}, nil
}
