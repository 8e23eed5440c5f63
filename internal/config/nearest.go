package config

import "strings"

// nearest returns the known key or group whose name takes the fewest edits to
// become name.
func nearest(name string) string {
	best, bestEdits := "", 0
	for _, k := range keys {
		for known := k.Name; known != ""; known = known[:max(0, strings.LastIndexByte(known, '.'))] {
			if n := edits(name, known); best == "" || n < bestEdits {
				best, bestEdits = known, n
			}
		}
	}
	return best
}

// edits returns how many bytes must be put in, taken out or changed to turn a
// into b (Levenshtein).
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
