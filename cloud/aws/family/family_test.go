package family_test

import (
	"testing"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	"github.com/karpenter-anew/karpenter/cloud/aws/family"
)

// TestDisks pins the disks that instances get by default.
func TestDisks(t *testing.T) {
	t.Attr("covers", "N321")
	for of, want := range map[awsv1.Family]string{
		awsv1.FamilyAL2: "/dev/xvda 20Gi;", awsv1.FamilyAL2023: "/dev/xvda 20Gi;", awsv1.FamilyBottlerocket: "/dev/xvda 6Gi;/dev/xvdb 20Gi;",
		awsv1.FamilyWindows2019: "/dev/sda1 50Gi;", awsv1.FamilyWindows2022: "/dev/sda1 50Gi;", awsv1.FamilyWindows2025: "/dev/sda1 50Gi;", awsv1.FamilyCustom: "",
	} {
		got, ephemeral := "", want == ""
		for _, d := range family.BlockDevices(of) {
			got += *d.DeviceName + " " + d.EBS.VolumeSize.String() + ";"
			ephemeral = ephemeral || *d.DeviceName == family.TraitsOf(of).EphemeralDevice
			if !*d.EBS.Encrypted || *d.EBS.VolumeType != "gp3" || d.EBS.IOPS != nil || d.EBS.DeleteOnTermination != nil {
				t.Errorf("%s: %+v", of, d.EBS)
			}
		}
		if got != want || !ephemeral {
			t.Errorf("%s: disks %q, want %q, with the files of pods on one of them", of, got, want)
		}
	}
}
