package awserrors

import "strings"

// Reason is why a launch failed, as the condition of the claim and the metric of failures say it.
type Reason struct{ Reason, Message string }

// rule gives a reason to errors whose text holds one of any and all of all.
type rule struct {
	any, all []string
	reason   Reason
}

// rules are tried in order; the first that holds counts.
func rules() []rule {
	denied := []string{codeUnauthorized, "AccessDenied", "AuthFailure"}
	return []rule{
		{nil, []string{codeSpotRole}, Reason{"SpotSLRCreationFailed", "User does not have sufficient permission to create the Spot ServiceLinkedRole to launch spot instances"}},
		{denied, []string{"with an explicit deny in a permissions boundary"}, Reason{"Unauthorized", "User is not authorized to perform this operation due to a permission boundary"}},
		{denied, []string{"with an explicit deny in a service control policy"}, Reason{"Unauthorized", "User is not authorized to perform this operation due to a service control policy"}},
		{denied, []string{"Not authorized for images"}, Reason{"AMIAuthorizationFailure", "User is not authorized for AMI used in instance launch"}},
		{denied, nil, Reason{"Unauthorized", "User is not authorized to perform this operation because no identity-based policy allows it"}},
		{nil, []string{"InvalidParameter", "belong to different networks"}, Reason{"SecurityGroupSubnetVPCMismatch", "Security groups and subnets must be in the same VPC."}},
		{nil, []string{"iamInstanceProfile.name is invalid"}, Reason{"InstanceProfileNameInvalid", "Instance profile name used from EC2NodeClass status does not exist"}},
		{nil, []string{"InvalidLaunchTemplateId.NotFound"}, Reason{"LaunchTemplateNotFound", "Launch template used for instance launch wasn't found"}},
		{nil, []string{"User data is limited to"}, Reason{"UserDataSizeLimitExceeded", "Rendered user data exceeds the EC2 user data size limit"}},
		{nil, []string{"InvalidAMIID.Malformed"}, Reason{"InvalidAMIID", "AMI used for instance launch is invalid"}},
		{nil, []string{"InvalidAMIID.NotFound"}, Reason{"AMINotFound", "AMI used for instance launch either does not exist or you don't have permissions to use it"}},
		{nil, []string{codeThrottled}, Reason{"RequestLimitExceeded", "Request limit exceeded"}},
		{nil, []string{"InternalError"}, Reason{"InternalError", "An internal error has occurred"}},
		{nil, []string{"not eligible for Free Tier"}, Reason{"FreeTierIneligible", "The specified instance type is not eligible for Free Tier"}},
		{nil, []string{"MaxFleetCountExceeded"}, Reason{"FleetQuotaExceeded", "A fleet launch was requested but this would exceed your fleet request quota"}},
		{nil, []string{"PendingVerification"}, Reason{"AccountPendingVerification", "An instance launch was requested but the request for launching resources in this region is still being verified"}},
		{nil, []string{"MaxSpotInstanceCountExceeded"}, Reason{"SpotQuotaExceeded", "A spot instance launch was requested but this would exceed your spot instance quota"}},
		{nil, []string{"VcpuLimitExceeded"}, Reason{"VCPULimitExceeded", "An instance was requested that would exceed your VCPU quota"}},
		{nil, []string{codeSubnetFull}, Reason{"InsufficientFreeAddressesInSubnet", "There are not enough free IP addresses to launch an instance in this subnet"}},
	}
}

// ReasonOf returns why a launch failed, from the text of the error.
func ReasonOf(text string) Reason {
	for _, r := range rules() {
		if r.holds(text) {
			return r.reason
		}
	}
	return Reason{"LaunchFailed", "Instance launch failed"}
}

func (r rule) holds(text string) bool {
	found := len(r.any) == 0
	for _, part := range r.any {
		found = found || strings.Contains(text, part)
	}
	for _, part := range r.all {
		found = found && strings.Contains(text, part)
	}
	return found
}
