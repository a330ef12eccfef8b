package awstest

import (
	"net/http"
	"slices"
	"time"
)

// Shift is a zonal shift of the cluster's traffic away from a zone.
type Shift struct {
	// ZoneID is the id of the zone, for instance use1-az1.
	ZoneID string
	// Ends is when it ends; zero for a zonal autoshift, which has no end time.
	Ends time.Time
	// Waiting says that another shift takes precedence.
	Waiting bool
}

// SetShifts replaces the zonal shifts of the cluster.
func (a *Account) SetShifts(all ...Shift) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.shifts = slices.Clone(all)
}

// zoneID is the ID of a zone in which there is a subnet; empty for others. The account is locked.
func (a *Account) zoneID(zone string) string {
	at := slices.IndexFunc(a.subnets, func(s *Subnet) bool { return s.Zone == zone })
	if at < 0 {
		return ""
	}
	return a.subnets[at].ZoneID
}

func (a *Account) clusterARN() string {
	return "arn:aws:eks:" + a.region + ":" + AccountID + ":cluster/" + a.cluster.Name
}

func getManagedResource(a *Account, f *form) (any, error) {
	if f.body != a.clusterARN() {
		return nil, &apiError{status: http.StatusNotFound, code: "ResourceNotFoundException", message: "The resource " + f.body + " is not managed."}
	}
	shifts, auto := []map[string]any{}, []map[string]any{}
	for _, s := range a.shifts {
		w := map[string]any{"awayFrom": s.ZoneID, "appliedStatus": "APPLIED", "startTime": a.clock.Now().Add(-time.Minute).Unix()}
		if s.Waiting {
			w["appliedStatus"] = "NOT_APPLIED"
		}
		if s.Ends.IsZero() {
			auto = append(auto, w)
			continue
		}
		w["expiryTime"], w["resourceIdentifier"], w["zonalShiftId"], w["comment"] = s.Ends.Unix(), f.body, "shift-of-"+s.ZoneID, "trouble"
		shifts = append(shifts, w)
	}
	return map[string]any{
		"arn": f.body, "name": a.cluster.Name, "appliedWeights": map[string]float64{}, "zonalShifts": shifts, "autoshifts": auto, "zonalAutoshiftStatus": "DISABLED",
	}, nil
}
