package config

import "strings"

// FindFile returns the path of the configuration file, "" where there is none:
// the first of
//
//	flag (--config), WOK_CONFIG, /etc/wok.conf, ./wok.conf,
//	STRFRY_CONFIG, /etc/strfry.conf, ./strfry.conf
//
// A file that the flag or a variable names is returned whether it exists or
// not, for it must; the others count only where exists says so. getenv returns
// "" for a variable that is not set.
func FindFile(flag string, getenv func(string) string, exists func(string) bool) string {
	if flag != "" {
		return flag
	}
	for _, name := range []string{"wok", "strfry"} {
		if path := getenv(strings.ToUpper(name) + "_CONFIG"); path != "" {
			return path
		}
		for _, dir := range []string{"/etc/", "./"} {
			if path := dir + name + ".conf"; exists(path) {
				return path
			}
		}
	}
	return ""
}
