package awserrors_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/karpenter-anew/karpenter/cloud/aws/awserrors"
)

// answer is an error as the SDK has them.
type answer struct{ code, message string }

func (a answer) Error() string        { return "api error " + a.code + ": " + a.message }
func (a answer) ErrorCode() string    { return a.code }
func (a answer) ErrorMessage() string { return a.message }

func TestClasses(t *testing.T) {
	for _, test := range []struct {
		class func(error) bool
		yes   []answer
		no    []answer
	}{
		{awserrors.IsNotFound, []answer{
			{"InvalidCapacityReservationId.NotFound", ""},
			{"InvalidInstanceID.NotFound", ""},
			{"InvalidLaunchTemplateName.NotFoundException", ""},
			{"InvalidLaunchTemplateId.NotFound", ""},
			{"QueueDoesNotExist", ""},
			{"NoSuchEntity", ""},
			{"ParameterNotFound", ""},
		}, []answer{{"InvalidAMIID.NotFound", ""}, {"EntityAlreadyExists", "NoSuchEntity"}}},
		{awserrors.IsAlreadyExists, []answer{{"EntityAlreadyExists", ""}}, []answer{{"NoSuchEntity", ""}}},
		{awserrors.IsLaunchTemplateMissing, []answer{{"InvalidLaunchTemplateName.NotFoundException", ""}}, []answer{{"InvalidLaunchTemplateId.NotFound", ""}}},
		{awserrors.IsUnauthorized, []answer{{"UnauthorizedOperation", ""}}, []answer{{"AccessDenied", ""}}},
		{awserrors.IsThrottled, []answer{{"RequestLimitExceeded", ""}}, []answer{{"Throttling", ""}}},
		{awserrors.IsDryRunSuccess, []answer{{"DryRunOperation", ""}}, []answer{{"UnauthorizedOperation", ""}}},
		{awserrors.IsInstanceProfileMissing, []answer{{"InvalidParameterValue", "Value (x) for parameter iamInstanceProfile.name is invalid. Invalid IAM Instance Profile name"}}, []answer{{"InvalidParameterValue", "x"}, {"Other", "Invalid IAM Instance Profile name"}}},
		{awserrors.IsUserDataTooLarge, []answer{{"InvalidUserData.Malformed", "User data is limited to 16384 bytes"}}, []answer{{"InvalidUserData.Malformed", "Invalid BASE64"}}},
	} {
		for _, err := range test.yes {
			if !test.class(fmt.Errorf("calling: %w", err)) {
				t.Errorf("%v is not of its class", err)
			}
		}
		for _, err := range test.no {
			if test.class(err) {
				t.Errorf("%v is of a class that is not its own", err)
			}
		}
		if test.class(nil) || test.class(errors.New("plain")) {
			t.Error("an error without code has a class")
		}
	}
}

func TestNoCapacity(t *testing.T) {
	t.Attr("covers", "N331")
	var all []awserrors.FleetError
	for _, code := range []string{
		"InsufficientInstanceCapacity", "MaxSpotInstanceCountExceeded", "VcpuLimitExceeded", "UnfulfillableCapacity", "Unsupported", "InsufficientFreeAddressesInSubnet",
		"MaxFleetCountExceeded", "ReservationCapacityExceeded", "SpotMaxPriceTooLow", "InvalidCapacityReservationState.Unavailable", "AuthFailure.ServiceLinkedRoleCreationNotPermitted",
	} {
		f := awserrors.FleetError{Code: code}
		if f.Unfulfillable() == f.SpotRoleMissing() || f.SubnetFull() != (code == "InsufficientFreeAddressesInSubnet") ||
			f.ReservationFull() != (code == "ReservationCapacityExceeded") || !awserrors.NoCapacity([]awserrors.FleetError{f}) {
			t.Errorf("%s is no lack of capacity", code)
		}
		all = append(all, f)
	}
	if !awserrors.NoCapacity(all) || awserrors.NoCapacity(append(all, awserrors.FleetError{Code: "RequestLimitExceeded"})) || awserrors.NoCapacity(nil) {
		t.Error("a launch fails for lack of capacity when all its errors say so, and then only")
	}
	full := awserrors.FleetError{Code: "x", Message: "You have reached the limit of instances in this spread placement group"}
	if !full.SpreadGroupFull() || (awserrors.FleetError{}).SpreadGroupFull() {
		t.Error("a full spread group is told by its message")
	}
}

func TestReasons(t *testing.T) {
	t.Attr("covers", "A150")
	for text, want := range map[string]string{
		"AuthFailure.ServiceLinkedRoleCreationNotPermitted: x":                          "SpotSLRCreationFailed",
		"UnauthorizedOperation: with an explicit deny in a permissions boundary":        "Unauthorized",
		"AccessDenied: with an explicit deny in a service control policy":               "Unauthorized",
		"AuthFailure: Not authorized for images: [ami-1]":                               "AMIAuthorizationFailure",
		"UnauthorizedOperation: You are not authorized":                                 "Unauthorized",
		"InvalidParameter: Security group sg-1 and subnet belong to different networks": "SecurityGroupSubnetVPCMismatch",
		"Value (x) for parameter iamInstanceProfile.name is invalid":                    "InstanceProfileNameInvalid",
		"InvalidLaunchTemplateId.NotFound":                                              "LaunchTemplateNotFound", "User data is limited to 16384 bytes": "UserDataSizeLimitExceeded",
		"InvalidAMIID.Malformed": "InvalidAMIID", "InvalidAMIID.NotFound": "AMINotFound", "RequestLimitExceeded": "RequestLimitExceeded", "InternalError": "InternalError",
		"The type is not eligible for Free Tier": "FreeTierIneligible", "MaxFleetCountExceeded": "FleetQuotaExceeded", "PendingVerification": "AccountPendingVerification",
		"MaxSpotInstanceCountExceeded": "SpotQuotaExceeded", "VcpuLimitExceeded": "VCPULimitExceeded", "InsufficientFreeAddressesInSubnet": "InsufficientFreeAddressesInSubnet",
		"something else": "LaunchFailed", "": "LaunchFailed", "with an explicit deny in a permissions boundary": "LaunchFailed", "InvalidParameter: other": "LaunchFailed",
	} {
		if got := awserrors.ReasonOf(text); got.Reason != want || got.Message == "" {
			t.Errorf("%q: %v, want %s", text, got, want)
		}
	}
	for text, want := range map[string]string{
		"UnauthorizedOperation: with an explicit deny in a permissions boundary": "User is not authorized to perform this operation due to a permission boundary",
		"AccessDenied: with an explicit deny in a service control policy":        "User is not authorized to perform this operation due to a service control policy",
		"AccessDenied: x": "User is not authorized to perform this operation because no identity-based policy allows it",
	} {
		if got := awserrors.ReasonOf(text).Message; got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
