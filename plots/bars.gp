# One bar per row from zero, with its spread and its value. Needs $bars (place, value, low, high,
# text, where the text begins), $published (place, value; `published`: how many), `rows`, array `labels`, `left` (where
# the plot begins, the labels beside it).
set lmargin at screen left
set rmargin at screen 0.96
set yrange [rows + 0.6 : 0.4]
unset label 1
unset key
set grid noytics
set ytics ()
do for [i = 1:rows] { set ytics add (labels[i] i) }
set style fill solid 0.85 noborder
plot $bars using ($2 / 2):1:($2 / 2):(0.34) with boxxyerror linecolor rgb "#0072B2" notitle, \
     $bars using ($4 > $3 ? $3 : NaN):1:($4 - $3):(0) with vectors @whisker notitle, \
     $published using (published ? $2 : NaN):1 with points pointtype 7 pointsize 2.2 * mark_size linecolor rgb "white" notitle, \
     $published using (published ? $2 : NaN):1 with points pointtype 6 pointsize 2 * mark_size linecolor rgb "#1d2733" linewidth 1.5 notitle, \
     $bars using 6:1:5 with labels left offset 0.7,0 font small notitle
