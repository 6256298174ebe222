# Curves with an optional band. Needs $data (blocks of x, y, low, high; two empty lines between),
# `series` (how many), array `names`, `marks` (1: points on the lines), `band` (1: low to high).
set lmargin at screen 0.09
set rmargin at screen (series > 1 ? 0.76 : 0.96)
if (series > 1) { set key outside right center vertical reverse Left width 0 samplen 2 spacing 1.25 } else { unset key }
if (marks) { set offsets graph 0.03, graph 0.03, graph 0.03, graph 0.03 }
if (band) {
    plot for [i = 1:series] $data index i - 1 using 1:3:4 with filledcurves linetype i notitle, \
         for [i = 1:series] $data index i - 1 using 1:2 with lines linetype i title names[i], \
         for [i = 1:series] $data index i - 1 using 1:(marks ? $2 : NaN) with points linetype i pointsize 0.9 notitle
} else {
    plot for [i = 1:series] $data index i - 1 using 1:2 with lines linetype i title names[i], \
         for [i = 1:series] $data index i - 1 using 1:(marks ? $2 : NaN) with points linetype i pointsize 0.9 notitle
}
