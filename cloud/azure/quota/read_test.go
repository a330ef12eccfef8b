package quota_test

import (
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/karpenter-anew/karpenter/cloud/azure/azuretest"
	"github.com/karpenter-anew/karpenter/cloud/azure/quota"
)

// TestUsagesAreReadFromAzure reads them, and forgets them when they cannot be read for long.
func TestUsagesAreReadFromAzure(t *testing.T) {
	now := clocktesting.NewFakeClock(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC))
	account := azuretest.New(azuretest.Options{Clock: now})
	account.Limit(dsv3, 7)
	connection := azuretest.Connect(t, account)
	usages, err := armcompute.NewUsageClient(azuretest.Subscription, connection.Credential, connection.Options)
	if err != nil {
		t.Fatal(err)
	}
	q := quota.New(now)
	read := func(location string, wantErr, wantExceeded bool) {
		t.Helper()
		if err := q.Read(t.Context(), usages, location); (err != nil) != wantErr {
			t.Errorf("read: %v", err)
		}
		if q.Exceeded(dsv3, 8) != wantExceeded || q.Exceeded(dsv3, 7) || q.Exceeded("unknown", 1000) {
			t.Errorf("8 vCPUs exceed: %t, want %t", q.Exceeded(dsv3, 8), wantExceeded)
		}
	}
	read("eastus", false, true)
	account.Fail("GET usages", 500, "InternalServerError", "Try again.", 2)
	now.Step(15 * time.Minute)
	read("eastus", true, true)
	now.Step(time.Second)
	read("eastus", true, false)
	read("eastus", false, true)
}
