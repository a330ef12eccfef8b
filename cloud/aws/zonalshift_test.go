package aws

import (
	"testing"
	"time"

	"github.com/karpenter-anew/karpenter/cloud/aws/awstest"
	"github.com/karpenter-anew/karpenter/cloud/aws/provider"
)

func TestShiftsAreKnownFromTheStart(t *testing.T) {
	account := awstest.New(awstest.Options{Types: []string{"m5.large", "m5.metal"}})
	config := awstest.Connect(t, account)
	s := Settings{ClusterName: "test", ClusterEndpoint: "https://given", ZonalShift: true}
	account.SetShifts(awstest.Shift{ZoneID: "use1-az1", Ends: time.Now().Add(time.Hour)})
	opened, err := open(t.Context(), nil, s, config)
	if err != nil || !opened.Provider.(*provider.Provider).Shifts.Shifted("use1-az1") {
		t.Errorf("not known, %v", err)
	}
	for _, call := range []string{"DescribeCluster", "GetManagedResource"} {
		account.Fail(call, "AccessDeniedException", "no", 1)
		if _, err := open(t.Context(), nil, s, config); err == nil {
			t.Errorf("started without %s", call)
		}
	}
	account.Forget()
	s.ZonalShift = false
	if _, err := open(t.Context(), nil, s, config); err != nil || len(account.Calls("GetManagedResource")) != 0 {
		t.Errorf("asked although it is off, %v", err)
	}
}
